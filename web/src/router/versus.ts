// The other side of a comparison in the address: `vs=RUN[:rank][:step]`. Side A is the run of the address itself.
export interface Versus {
  readonly run: string
  /** Ranks of side B by their numbers, such as `3` or `0-7,317`; null means those of side A. */
  readonly rank: string | null
  readonly step: number | null
}

/** Read `vs`; null where nothing is compared. */
export function parseVersus(text: string | undefined): Versus | null {
  const [run = '', rank = '', step = ''] = (text ?? '').split(':')
  if (run === '') return null
  return { run, rank: rank === '' ? null : rank, step: /^-?\d+$/.test(step) ? Number(step) : null }
}

export function formatVersus({ run, rank, step }: Versus): string {
  const parts = [run, rank ?? '', step === null ? '' : String(step)]
  return parts.join(':').replace(/:+$/, '')
}
