// Colours of curves and parts without a fixed meaning, told apart also without red and green. Those that mean something
// on every page (`--compute`, `--communication`, `--data`, …) are for what they mean.
export const SERIES_COLOURS = [
  '--series-1',
  '--series-2',
  '--series-3',
  '--series-4',
  '--series-5',
  '--series-6',
  '--series-7',
  '--series-8',
] as const

/** The CSS variable of the n-th of them; after the last the first returns. */
export function seriesColour(index: number): string {
  return SERIES_COLOURS[index % SERIES_COLOURS.length] as string
}
