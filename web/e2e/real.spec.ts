// Every page on real captures: something is shown, in both languages, with the numbers of the analyses.
import { expect, test } from './fixtures'
import { HAS_MINDSPORE, REAL } from './realCaptures'

const PAGES = ['overview', 'timeline', 'steps', 'operators', 'data', 'memory', 'cpu', 'cluster', 'sql'] as const

interface Steps {
  readonly data: readonly { step: number; computing_us: number | null }[]
}

for (const { name } of REAL) {
  test(`every page of ${name} answers, or says why it cannot`, async ({ app, page }) => {
    test.setTimeout(300_000)
    const run = await app.run(name)
    for (const language of name === REAL[0]?.name ? (['en', 'zh'] as const) : (['en'] as const)) {
      for (const place of PAGES) {
        await app.open(`/run/${run.id}/${place}`, { language })
        const main = page.getByRole('main')
        await expect(main).toBeVisible()
        await page.waitForLoadState('networkidle')
        expect((await main.innerText()).length, `${place} is blank`).toBeGreaterThan(20)
        await expect(page.getByRole('alert')).toHaveCount(0)
      }
    }
  })
}

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

test('every page of a MindSpore training on the processor answers, or says why it cannot', async ({ app, page }) => {
  test.skip(!HAS_MINDSPORE, 'needs MindSpore in .venv-mindspore, which make test installs')
  test.setTimeout(300_000)
  const { runs } = await app.api<{ runs: { id: string; name: string; frameworks: string[] }[] }>('runs')
  const run = runs.find((one) => one.name.endsWith('_ascend_ms'))
  expect(run?.frameworks).toEqual(['mindspore'])
  for (const place of PAGES) {
    await app.open(`/run/${run?.id}/${place}`)
    await page.waitForLoadState('networkidle')
    expect((await page.getByRole('main').innerText()).length, `${place} is blank`).toBeGreaterThan(20)
    await expect(page.getByRole('alert')).toHaveCount(0)
  }
  const answer = await app.api<Steps>(`run/${run?.id}/steps`)
  expect(answer.data.map((row) => row.step)).toEqual([4, 5])
})
