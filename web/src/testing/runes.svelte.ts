// Reactive values and effects outside of components, for tests.

/** Run something that makes effects, and end these afterwards. */
export async function inRoot(work: () => Promise<void>): Promise<void> {
  let done: Promise<void> = Promise.resolve()
  const stop = $effect.root(() => {
    done = work()
  })
  await done
  stop()
}

export function makeKey<T>(first: T): { value: T | null } {
  let value = $state.raw<T | null>(first)
  return {
    get value() {
      return value
    },
    set value(next: T | null) {
      value = next
    },
  }
}

/** An effect that acts while something holds. */
export function whenever(holds: () => boolean, act: () => void): void {
  $effect(() => {
    if (holds()) act()
  })
}
