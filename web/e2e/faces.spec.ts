// One truth: every number that a page shows is the number of the analysis, under the same name; on captures made by hand.
import { expect, test } from './fixtures'
import { compare, concludes, type Place } from './shownNumbers'

/** Pages, and parameters of the address that bring tables of theirs into sight. */
const PLACES: readonly Place[] = [
  { path: 'overview' },
  { path: 'timeline' },
  { path: 'timeline', params: { sel: '0:1' } },
  { path: 'timeline', params: { range: '0-2000000' } },
  { path: 'timeline', params: { tour: 'path' } },
  { path: 'timeline', params: { tour: 'gaps' } },
  { path: 'steps' },
  { path: 'operators' },
  { path: 'operators', params: { by: 'kernel', lane: 'all' } },
  { path: 'operators', params: { by: 'kernel', pick: 'gemm_kernel' } },
  { path: 'data' },
  { path: 'cpu' },
  { path: 'cluster' },
  { path: 'communication' },
  { path: 'operators', params: { by: 'category', lane: 'all' } },
  { path: 'memory' },
  { path: 'memory', params: { tab: 'leaks', sites: 'all' } },
  { path: 'memory', params: { tab: 'steps' } },
  { path: 'memory', params: { tab: 'spaces' } },
  { path: 'memory', params: { tab: 'lifetimes' } },
  { path: 'memory', params: { tab: 'fragmentation' } },
]
const OWN = ['job', 'host', 'interval', 'slow', 'gaps', 'leaky', 'loader_1_20231114221320000_ascend_pt'] as const

/** The Overview of every capture, and of the other places every second, in turn; with STEPSCOPE_SOAK=1 all of them. */
const IN_TURN = process.env['STEPSCOPE_SOAK'] ? 1 : 2

for (const [number, name] of OWN.entries())
  test(`pages of ${name} show the numbers of the analyses and conclude what diagnose concludes`, async ({
    app,
    page,
  }) => {
    test.setTimeout(300_000)
    app.refusals = true
    const run = await app.run(name)
    const wrong: unknown[] = []
    let compared = 0
    for (const place of PLACES.filter((_, index) => index === 0 || (index + number) % IN_TURN === 0)) {
      await app.open(`/run/${run.id}/${place.path}?${new URLSearchParams({ ...place.params, rank: '0' }).toString()}`)
      await page.waitForLoadState('networkidle')
      const seen = await compare(app, run.id, 0, place)
      compared += seen.compared
      wrong.push(...seen.wrong.map((one) => ({ place, ...one })))
      if (place.path === 'overview') wrong.push(...(await concludes(app, run)))
    }
    expect(wrong).toEqual([])
    expect(compared).toBeGreaterThan(0)
  })
