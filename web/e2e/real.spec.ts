// Every page on real captures: something is shown, in both languages, with the numbers of the analyses.
import { expect, test } from './fixtures'
import type { App } from './fixtures'
import { quiet } from './quiet'
import { HAS_MINDSPORE, REAL } from './realCaptures'

const PAGES = {
  overview: 'Overview',
  advice: 'Advice',
  timeline: 'Timeline',
  steps: 'Steps',
  operators: 'Operators',
  data: 'Data pipeline',
  memory: 'Memory',
  cpu: 'CPU use',
  cluster: 'Ranks',
  communication: 'Communication',
  compare: 'Compare',
  sql: 'SQL',
} as const

interface Steps {
  readonly data: readonly { step: number; computing_us: number | null }[]
}

/** The page that stands there shows something, and nothing failed. */
async function shows(app: App, place: string): Promise<void> {
  const main = app.page.getByRole('main')
  await expect(main).toBeVisible()
  expect((await main.innerText()).length, `${place} is blank`).toBeGreaterThan(20)
  await expect(app.page.getByRole('alert')).toHaveCount(0)
}

/** Every page of a run, one after the other as links would lead there. */
async function everyPage(app: App, run: string): Promise<void> {
  for (const [place, heading] of Object.entries(PAGES)) {
    await quiet(app.page, heading, () => app.move(`/run/${run}/${place}`, {}))
    await shows(app, place)
  }
}

for (const { name } of REAL)
  test(`every page of ${name} answers, or says why it cannot`, async ({ app, page }) => {
    test.setTimeout(300_000)
    const run = await app.run(name)
    await everyPage(app, run.id)
    if (name !== REAL[0]?.name) return
    await page.evaluate(() => localStorage.setItem('stepscope.language', 'zh'))
    for (const place of Object.keys(PAGES)) {
      await app.open(`/run/${run.id}/${place}`)
      await page.waitForLoadState('networkidle')
      await expect(page.locator('html')).toHaveAttribute('lang', 'zh')
      await shows(app, place)
    }
  })

for (const { name } of REAL.filter((one) => one.name !== 'profiler')) {
  test(`the table of steps of ${name} has the computing time of the analysis`, async ({ app, page }) => {
    const run = await app.run(name)
    const answer = await app.api<Steps>(`run/${run.id}/steps?rank=0`)
    const computing = answer.data[0]?.computing_us
    expect(computing).toBeGreaterThan(0)
    await app.open(`/run/${run.id}/steps?rank=0`)
    const shown =
      computing! >= 1000
        ? `${Number((computing! / 1000).toPrecision(4))} ms`
        : `${Number(computing!.toPrecision(4))} µs`
    await expect(page.getByRole('grid', { name: 'Steps' })).toContainText(shown)
  })
}

test('every page of a MindSpore training on the processor answers, or says why it cannot', async ({ app }) => {
  test.skip(!HAS_MINDSPORE, 'needs MindSpore in .venv-mindspore, which make test installs')
  test.setTimeout(300_000)
  const { runs } = await app.api<{ runs: { id: string; name: string; frameworks: string[] }[] }>('runs')
  const run = runs.find((one) => one.name.endsWith('_ascend_ms'))
  expect(run?.frameworks).toEqual(['mindspore'])
  await everyPage(app, run?.id ?? '')
  const answer = await app.api<Steps>(`run/${run?.id}/steps`)
  expect(answer.data.map((row) => row.step)).toEqual([4, 5])
})
