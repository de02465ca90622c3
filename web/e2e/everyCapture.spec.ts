// One truth, on every capture there is: what a page shows is the number of the analysis under the same name, and what
// it concludes is the list of findings. One server and one page serve all of them. `make test` opens every capture's
// Overview and each of its other pages for every sixth capture, in turn, so that each page meets captures of all kinds;
// with STEPSCOPE_SOAK=1, as in `make soak`, every page of every capture is opened.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { App, expect, plainTest as test, type Run } from './fixtures'
import { quiet } from './quiet'
import { everyCapture } from './realCaptures'
import { serve } from './server'
import { compare, concludes, type Place } from './shownNumbers'

/** Pages, and the tables of which a run must have one for a page to show anything. */
const PLACES: readonly (Place & { heading: string; needs: readonly string[] })[] = [
  { path: 'overview', heading: 'Overview', needs: [] },
  { path: 'timeline', heading: 'Timeline', needs: ['slices'] },
  { path: 'timeline', heading: 'Timeline', params: { tour: 'path' }, needs: ['steps'] },
  { path: 'timeline', heading: 'Timeline', params: { tour: 'gaps' }, needs: ['steps'] },
  { path: 'steps', heading: 'Steps', needs: ['steps'] },
  { path: 'operators', heading: 'Operators', params: { by: 'kernel', lane: 'all' }, needs: ['slices'] },
  { path: 'data', heading: 'Data pipeline', needs: ['pipeline_ops', 'pipeline_batches', 'pipeline_samples'] },
  { path: 'cpu', heading: 'CPU use', needs: ['cpu'] },
  { path: 'cluster', heading: 'Ranks', needs: ['collectives', 'transfers'] },
  { path: 'communication', heading: 'Communication', needs: ['collectives', 'transfers'] },
  { path: 'memory', heading: 'Memory', needs: ['memory', 'allocations'] },
  { path: 'memory', heading: 'Memory', params: { tab: 'leaks', sites: 'all' }, needs: ['allocations'] },
  { path: 'memory', heading: 'Memory', params: { tab: 'lifetimes' }, needs: ['allocations'] },
]
interface Details {
  readonly rank_list: readonly { readonly rank: number }[]
  readonly tables: Readonly<Record<string, number>>
}
/** What is looked at on the last rank, too. */
const OF_LAST_RANK = 2
/** Of how many captures one is looked at on all pages but the Overview. */
const IN_TURN = process.env['STEPSCOPE_SOAK'] ? 1 : 6

test('pages of every capture show the numbers of the analyses and conclude what diagnose concludes', async ({
  page,
}) => {
  test.setTimeout(3_600_000) // only so as not to hang: a busy machine needs many times what an idle one does
  const folder = mkdtempSync(join(tmpdir(), 'stepscope-faces-'))
  const paths = everyCapture(folder)
  const server = await serve(paths, join(folder, 'store'), paths.length)
  try {
    const app = new App(page, server.address)
    const wrong: unknown[] = []
    let compared = 0
    const { runs } = await app.api<{ runs: readonly (Run & { state: string })[] }>('runs')
    const ready = runs.filter((one) => one.state === 'ready').toSorted((a, b) => a.name.localeCompare(b.name))
    for (const [number, run] of ready.entries()) {
      const { rank_list, tables } = await app.api<Details>(`run/${run.id}`)
      const filled = PLACES.filter(
        ({ needs }, index) =>
          needs.length === 0 || ((number + index) % IN_TURN === 0 && needs.some((table) => tables[table])),
      )
      const ranks = [...new Set([rank_list[0]?.rank ?? 0, rank_list.at(-1)?.rank ?? 0])]
      for (const [index, rank] of ranks.entries())
        for (const place of index === 0 ? filled : filled.slice(0, OF_LAST_RANK)) {
          await quiet(page, place.heading, () =>
            app.move(`/run/${run.id}/${place.path}`, { ...place.params, rank: String(rank) }),
          )
          const seen = await compare(app, run.id, rank, place)
          compared += seen.compared
          wrong.push(...seen.wrong.map((one) => ({ run: run.name, rank, path: place.path, ...one })))
          if (place.path === 'overview') wrong.push(...(await concludes(app, run)))
        }
    }
    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(runs.length)
  } finally {
    server.stop()
    rmSync(folder, { recursive: true, force: true })
  }
})
