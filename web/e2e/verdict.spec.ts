// From the first sentence of the Overview to its proof in at most two clicks, for each thing that can be wrong.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Page } from '@playwright/test'
import { App, expect, plainTest, test, type Run } from './fixtures'
import { REAL } from './realCaptures'
import { PYTHON, serve } from './server'
import { takeRankAway } from './absentRank'

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

/** The stretch that proves it is chosen, and lies within what the timeline shows. */
function stretch(app: App): (page: Page) => Promise<void> {
  return async () => {
    await app.settled()
    const numbers = (name: string): number[] => (app.param(name) ?? '').split('-').map(Number)
    const [from = 0, to = 0] = numbers('range')
    const [left = 0, right = 0] = numbers('t')
    expect(to).toBeGreaterThan(from)
    expect([from >= left, to <= right]).toEqual([true, true])
  }
}

test('slow loader', async ({ app, page }) => {
  await walk(app, page, await app.run('interval'), {
    says: ['wait for input', 'rank 0', 'shorten a step'],
    severity: 'critical',
    page: 'timeline',
    rank: 0,
    seen: stretch(app),
  })
})

test('host-bound', async ({ app, page }) => {
  await walk(app, page, await app.run('gaps'), {
    says: ['rank 0', 'waits for the host'],
    page: 'timeline',
    rank: 0,
    seen: stretch(app),
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
    seen: stretch(app),
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
    seen: stretch(app),
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
      seen: async () => expect(page.getByRole('article').first()).toBeInViewport(),
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
      seen: stretch(app),
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
      seen: stretch(app),
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
