// How a run is called: by the user's own name, else by that of its capture; two of one name are told apart.
import type { RunSummary } from '../../api/runs'

export interface RunTitle {
  readonly name: string
  /** What tells it from others of that name: the folders above it, or how it came here; null where nothing needs to. */
  readonly apart: string | null
}

/** Titles by the run's id. */
export function runTitles(runs: readonly RunSummary[], uploaded: string): ReadonlyMap<string, RunTitle> {
  const named = new Map<string, RunSummary[]>()
  for (const run of runs) {
    const name = run.label ?? run.name
    named.set(name, [...(named.get(name) ?? []), run])
  }
  return new Map(
    [...named].flatMap(([name, same]) =>
      same.map((run, index) => [
        run.id,
        { name, apart: same.length > 1 ? apartFrom(run, same, index, uploaded) : null },
      ]),
    ),
  )
}

function apartFrom(run: RunSummary, same: readonly RunSummary[], index: number, uploaded: string): string {
  if (run.uploaded) return `${uploaded} ${index + 1}`
  const own = run.path.split('/').filter(Boolean)
  const others = same.filter((other) => other !== run && !other.uploaded)
  for (let length = 1; length <= own.length; length += 1) {
    const tail = own.slice(-length).join('/')
    if (tail !== run.name && others.every((other) => !`/${other.path}`.endsWith(`/${tail}`))) return tail
  }
  // Windows of one capture.
  return run.window ?? run.path
}
