// Something loaded from the server as reactive state: old data stays visible while new data comes.
import { untrack } from 'svelte'
import { isAborted } from '../api/errors'
import { connection } from './connection.svelte'

/** Shorter waits show nothing, so that the page does not flicker. */
const QUIET_MS = 150
/** After this the page says what is being computed and offers to stop. */
const LONG_MS = 2000

export class Resource<T> {
  data = $state.raw<T | undefined>(undefined)
  error = $state.raw<unknown>(undefined)
  /** `quiet` for the first moment, then `visible`, then `long`; null when nothing is under way. */
  waiting = $state<'quiet' | 'visible' | 'long' | null>(null)
  /** The user gave up waiting: what is shown, if anything, answers an earlier question. */
  stopped = $state(false)
  #again = $state(0)
  #stop: AbortController | undefined

  /** `key` is compared by its JSON: when that changes, `load` runs again; a null key means there is nothing to load. */
  constructor(key: () => unknown, load: (signal: AbortSignal) => Promise<T>) {
    const text = $derived(JSON.stringify(key() ?? null))
    $effect(() => {
      const current = text
      void this.#again
      void connection.returns
      if (current === 'null') {
        this.data = undefined
        this.error = undefined
        this.stopped = false
        return undefined
      }
      return untrack(() => this.#run(load))
    })
  }

  /** Load once more. An effect that calls this does not depend on it: it would run for ever. */
  reload(): void {
    untrack(() => (this.#again += 1))
  }

  cancel(): void {
    if (!this.waiting) return
    this.stopped = true
    this.#stop?.abort()
  }

  #run(load: (signal: AbortSignal) => Promise<T>): () => void {
    const stop = new AbortController()
    this.#stop = stop
    this.waiting = 'quiet'
    this.stopped = false
    const timers = [
      setTimeout(() => (this.waiting = 'visible'), QUIET_MS),
      setTimeout(() => (this.waiting = 'long'), LONG_MS),
    ]
    const finish = (): void => {
      for (const timer of timers) clearTimeout(timer)
      if (this.#stop === stop) this.waiting = null
    }
    load(stop.signal).then(
      (data) => {
        if (stop.signal.aborted) return
        this.data = data
        this.error = undefined
        finish()
      },
      (error: unknown) => {
        if (!isAborted(error) && !stop.signal.aborted) this.error = error
        finish()
      },
    )
    return () => {
      stop.abort()
      finish()
    }
  }
}
