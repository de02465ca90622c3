// Ticks at round numbers, for time axes.

/** A step of 1, 2 or 5 times a power of ten that leaves at least `room` pixels between ticks. */
export function roundStep(span: number, pixels: number, room: number): number {
  const least = (span * room) / Math.max(1, pixels)
  if (!(least > 0)) return 1
  const power = 10 ** Math.floor(Math.log10(least))
  const factor = [1, 2, 5, 10].find((candidate) => candidate * power >= least * (1 - 1e-12)) ?? 10
  return factor * power
}

/** Multiples of `step` within [start, end]. */
export function ticks(start: number, end: number, step: number): number[] {
  const found: number[] = []
  for (let index = Math.ceil(start / step); index * step <= end; index += 1) found.push(index * step)
  return found
}
