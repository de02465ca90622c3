// From the first sentence of the Overview to its proof in at most two clicks, for each thing that can be wrong.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { App, expect, plainTest, test, type Run } from './fixtures'
import { REAL } from './realCaptures'
import { MEMORY, MIB } from './cardCaptures'
import { PYTHON, serve } from './server'
import { takeRankAway } from './absentRank'
import { deviceGaps } from './cases'

interface Expected {
  /** What the sentence must name: the cause and the culprit. */
  readonly says: readonly (string | RegExp)[]
  readonly severity?: string
  /** Where the proof is. */
  readonly page: string
  /** The rank that the proof is of; null where it lies between ranks. */
  readonly rank: number | null
  readonly seen: (page: Page) => Promise<void>
}

/** The sentence is the first thing in sight, and one click on it or on its button shows the proof. */
async function walk(app: App, page: Page, run: Run, expected: Expected): Promise<void> {
  await app.open(`/run/${run.id}/overview`)
  const verdict = page.getByRole('region', { name: 'Verdict' })
  await expect(verdict).toBeInViewport()
  for (const words of expected.says) await expect(verdict.locator('.headline')).toContainText(words)
  if (expected.severity) await expect(verdict).toHaveAttribute('data-severity', expected.severity)
  // What to do stands beside it, and nothing is said twice: the finding of the sentence has no card of its own.
  if (expected.severity !== 'healthy') await expect(verdict.getByText('What to do:')).toBeInViewport()
  const showMe = page.getByRole('link', { name: 'Show me' }).and(page.locator('.primary')) // pictures are links, too
  await expect(showMe).toHaveCount(1)
  await showMe.click()
  expect(page.url()).toContain(`/${expected.page}`)
  expect((app.param('rank') ?? '').split(',')[0]).toBe(String(expected.rank ?? ''))
  await expected.seen(page)
}

/** Nanoseconds since the run's origin. */
interface Stretch {
  readonly from: number
  readonly to: number
}

/** The stretch that proves it is chosen, lies within what the timeline shows, and the names of its tracks are in sight. */
function stretch(
  app: App,
  tracks: readonly (string | RegExp)[],
  proves: (chosen: Stretch) => Promise<void> | void = () => {},
): (page: Page) => Promise<void> {
  return async (page) => {
    await app.settled()
    const numbers = (name: string): number[] => (app.param(name) ?? '').split('-').map(Number)
    const [from = 0, to = 0] = numbers('range')
    const [left = 0, right = 0] = numbers('t')
    expect(to).toBeGreaterThan(from)
    expect([from >= left, to <= right]).toEqual([true, true])
    // Wide enough to be seen: no hair line somewhere on the screen.
    expect((to - from) / (right - left)).toBeGreaterThan(0.05)
    const names = page.getByRole('group', { name: 'Tracks' })
    for (const track of tracks) await expect(names.getByText(track, { exact: true }).first()).toBeInViewport()
    await proves({ from, to })
  }
}

/** The device had nothing to do in the whole stretch, by the times that were written into the capture. */
function isGap(name: string): (chosen: Stretch) => void {
  return ({ from, to }) => {
    const within = deviceGaps(name).filter((gap) => gap.from <= from + 1000 && gap.to >= to - 1000)
    expect(within, JSON.stringify({ from, to, gaps: deviceGaps(name) })).toHaveLength(1)
    expect(to - from).toBeGreaterThan(0.9 * ((within[0]?.to ?? 0) - (within[0]?.from ?? 0)))
  }
}

/** How much of a stretch the slices of a kind fill on each rank, on the clocks of the ranks. */
async function shares(
  app: App,
  run: Run,
  kind: 'kernel' | 'collective',
  { from, to }: Stretch,
): Promise<ReadonlyMap<number, number>> {
  interface Details {
    readonly origin_ns: string
    readonly rank_list: readonly { readonly rank: number; readonly clock_offset_ns: string | null }[]
  }
  const { origin_ns, rank_list } = await app.api<Details>(`run/${run.id}`)
  const stretches = rank_list.map(({ rank, clock_offset_ns }) => {
    const zero = BigInt(origin_ns) - BigInt(clock_offset_ns ?? '0')
    return `(${rank}, ${zero + BigInt(from)}, ${zero + BigInt(to)})`
  })
  const query = `SELECT stretches.rank, sum(least(start_ns + dur_ns, t1) - greatest(start_ns, t0)) / ${to - from} AS share
    FROM (VALUES ${stretches.join(', ')}) AS stretches(rank, t0, t1)
    LEFT JOIN slices ON slices.rank = stretches.rank AND kind = '${kind}' AND start_ns < t1 AND start_ns + dur_ns > t0
    GROUP BY stretches.rank`
  interface Row {
    readonly rank: number
    readonly share: number | null
  }
  const { data } = await app.api<{ data: readonly Row[] }>(`run/${run.id}/sql`, { query, limit: rank_list.length })
  expect(data).toHaveLength(rank_list.length)
  return new Map(data.map(({ rank, share }) => [rank, share ?? 0]))
}

/** For most of the stretch the slow rank computes, and no other does. */
const computesAlone =
  (app: App, run: Run, slow: number) =>
  async (chosen: Stretch): Promise<void> => {
    const found = [...(await shares(app, run, 'kernel', chosen))]
    expect(found.filter(([, part]) => part > 0.5).map(([rank]) => rank)).toEqual([slow])
  }

/** For most of the stretch the slow rank computes, while each of the others is in a call that waits for it. */
const isWaitedFor =
  (app: App, run: Run, slow: number) =>
  async (chosen: Stretch): Promise<void> => {
    expect((await shares(app, run, 'kernel', chosen)).get(slow)).toBeGreaterThan(0.5)
    const found = [...(await shares(app, run, 'collective', chosen))]
    expect(found.filter(([rank, part]) => rank !== slow && part < 0.5)).toEqual([])
  }

test('slow loader', async ({ app, page }) => {
  await walk(app, page, await app.run('interval'), {
    says: ['wait for input', 'rank 0', 'shorten a step'],
    severity: 'critical',
    page: 'timeline',
    rank: 0,
    seen: stretch(app, ['Idle', 'stream 7'], isGap('interval')),
  })
})

test('host-bound', async ({ app, page }) => {
  await walk(app, page, await app.run('gaps'), {
    says: ['rank 0', 'waits for the host'],
    page: 'timeline',
    rank: 0,
    seen: stretch(app, ['Idle', 'stream 7'], isGap('gaps')),
  })
})

test('leak', async ({ app, page }) => {
  await walk(app, page, await app.run('leaky'), {
    says: ['Memory leaks on rank 0', 'more with every step'],
    severity: 'critical',
    page: 'memory',
    rank: 0,
    seen: async () => {
      await expect(page.getByRole('article').first()).toBeInViewport()
      expect(app.param('tab')).toBe('leaks')
      // What every step keeps is what was written into the capture.
      await expect(page.getByRole('article').first()).toContainText(`${MEMORY.kept / MIB} MiB`)
    },
  })
})

test('slow rank of four: it stands beside one that waits for it', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await walk(app, page, run, {
    says: ['rank 2', 'shorten a step'],
    severity: 'critical',
    page: 'timeline',
    rank: 2,
    seen: stretch(app, ['rank 2', 'Computing', /^rank [013]$/], computesAlone(app, run, 2)),
  })
  expect((app.param('rank') ?? '').split(',')).toHaveLength(2)
  await page.goBack()
  await expect(
    page.getByRole('region', { name: 'Ranks at a glance' }).getByRole('link', { name: 'rank 2' }),
  ).toBeInViewport()
})

test('absent rank of a real capture', async ({ app, page }) => {
  test.skip(!REAL.some((one) => one.name === 'text_level1'), 'needs a capture that lies beside the project')
  await walk(app, page, await app.run('text_level1'), {
    says: ['rank 5', 'not in the capture'],
    severity: 'critical',
    page: 'timeline',
    rank: 0,
    seen: stretch(app, ['rank 0', 'Exposed comm.']), // its lanes stand above a peer's, its plane further down
  })
})

const OUT_OF_MEMORY = 'extends = "healthy"\nsteps = 6\n[plan]\ndp = 1\n[[faults]]\nkind = "memory_pressure"\n'

const SLOW_NPU =
  'extends = "healthy-ascend"\nsteps = 3\n[plan]\ndp = 4\n[[faults]]\nkind = "slow_rank"\ncause = "compute"\nranks = [2]\n'

plainTest.describe('simulated', () => {
  const folder = mkdtempSync(join(tmpdir(), 'stepscope-verdict-'))
  const runs = {
    memory: join(folder, 'memory'),
    healthy: join(folder, 'healthy'),
    large: join(folder, 'large'),
    link: join(folder, 'link'),
    absent: join(folder, 'absent'),
  }
  let server: Awaited<ReturnType<typeof serve>> | undefined

  plainTest.beforeAll(async () => {
    plainTest.setTimeout(600_000)
    const scenario = join(folder, 'memory.toml')
    writeFileSync(scenario, OUT_OF_MEMORY)
    const simulate = (...words: string[]): void => {
      execFileSync(PYTHON, ['-m', 'stepscope', 'simulate', ...words])
    }
    simulate(scenario, '-o', runs.memory)
    const slow = join(folder, 'slow.toml')
    writeFileSync(slow, SLOW_NPU)
    simulate(slow, '--format', 'ascend-text', '-o', runs.absent)
    takeRankAway(runs.absent, 2)
    simulate('healthy', '--ranks', '4', '--steps', '4', '-o', runs.healthy)
    simulate('slow-rank', '--ranks', '512', '--steps', '2', '--detail', 'steps', '-o', runs.large)
    simulate('slow-link', '--steps', '2', '-o', runs.link)
    server = await serve(Object.values(runs), join(folder, 'store'), 4)
  })

  plainTest.afterAll(() => {
    server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  async function open(page: Page, path: string): Promise<[App, Run]> {
    const app = new App(page, server?.address ?? '')
    const { runs: listed } = await app.api<{ runs: readonly (Run & { path: string })[] }>('runs')
    const run = listed.find((one) => one.path.endsWith(path))
    if (!run) throw new Error(`no run ${path}`)
    return [app, run]
  }

  plainTest('out of memory', async ({ page }) => {
    const [app, run] = await open(page, runs.memory)
    await walk(app, page, run, {
      says: ['Memory ran out on rank 0'],
      severity: 'critical',
      page: 'memory',
      rank: 0,
      seen: async () => {
        await expect(page.getByRole('article').first()).toBeInViewport()
        await expect(page.getByText('Out of memory', { exact: true }).first()).toBeInViewport()
      },
    })
    await page.goBack()
    await expect(page.getByRole('article').locator('svg .moment')).toBeInViewport()
  })

  plainTest('absent rank: those that wait for it prove it', async ({ page }) => {
    const [app, run] = await open(page, runs.absent)
    await walk(app, page, run, {
      says: ['rank 2', 'not in the capture', 'shorten a step'],
      severity: 'warning',
      page: 'timeline',
      rank: 0,
      seen: stretch(app, ['Exposed comm.']),
    })
  })

  plainTest('a healthy run says so, with what was checked', async ({ page }) => {
    const [app, run] = await open(page, runs.healthy)
    await app.open(`/run/${run.id}/overview`)
    const verdict = page.getByRole('region', { name: 'Verdict' })
    await expect(verdict).toHaveAttribute('data-severity', 'healthy')
    await expect(verdict).toContainText('No problem')
    await expect(verdict.getByText('slow ranks')).toBeInViewport()
    await expect(page.getByRole('article')).toHaveCount(0)
  })

  plainTest('slow link: who waits for its ends is in sight, and all that there is to see', async ({ page }) => {
    plainTest.setTimeout(600_000)
    const [app, run] = await open(page, runs.link)
    await app.api(`run/${run.id}/diagnose`)
    await walk(app, page, run, {
      says: ['link between rank 2 and rank 10'],
      page: 'communication',
      rank: null,
      seen: async () =>
        expect(page.locator('canvas[aria-label^="Who waits for whom"]')).toBeInViewport({ ratio: 1, timeout: 60_000 }),
    })
    await expect(page.getByRole('link', { name: /^Walk through/ })).toHaveCount(0)
  })

  plainTest('slow rank of 512: named in the first sentence, and seen among all', async ({ page }) => {
    plainTest.setTimeout(600_000)
    const [app, run] = await open(page, runs.large)
    // Worked out before the page asks: this test is about the page.
    await app.api(`run/${run.id}/diagnose`)
    await walk(app, page, run, {
      says: ['rank 5'],
      page: 'timeline',
      rank: 5,
      seen: stretch(app, ['rank 5', 'Computing', /^rank (?!5$)\d+$/], isWaitedFor(app, run, 5)),
    })
    await page.goBack()
    const ranks = page.getByRole('region', { name: 'Ranks at a glance' })
    await expect(ranks.getByRole('link', { name: 'rank 5', exact: true })).toBeInViewport()
    await expect(ranks.locator('canvas')).toBeInViewport({ ratio: 1 })
  })
})

for (const theme of ['light', 'dark'] as const)
  test(`axe finds nothing serious on Overview and Advice (${theme})`, async ({ app, page }) => {
    const run = await app.run('four_ranks')
    for (const place of ['overview', 'advice']) {
      await page.evaluate(() => localStorage.clear()).catch(() => {})
      await app.open(`/run/${run.id}/${place}`, { theme, language: theme === 'dark' ? 'zh' : 'en' })
      await expect(page.getByRole('article').first()).toBeVisible()
      await page.waitForLoadState('networkidle')
      await app.axe()
    }
  })
