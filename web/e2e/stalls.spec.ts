// Loaders that stall in a rhythm, recorded beside a clock of the loop's own: the page says what that clock says.
import { readFileSync } from 'node:fs'
import { expect, test } from './fixtures'
import { LOADERS } from './server'

interface Clock {
  readonly recorded: readonly number[]
  readonly steps: readonly { readonly step: number; readonly began_ns: number; readonly got_batch_ns: number }[]
}

for (const [name, every] of [
  ['loader_every_fourth', '4th'],
  ['loader_two_workers', '2nd'],
] as const)
  test(`${name}: share, rhythm and a step that stalls`, async ({ app, page }) => {
    const path = LOADERS.find((one) => one.endsWith(`${name}.json.gz`)) ?? ''
    const clock = JSON.parse(readFileSync(path.replace('.json.gz', '.clock.json'), 'utf8')) as Clock
    const waits = clock.steps
      .filter((one) => clock.recorded.includes(one.step))
      .map((one) => ({ step: one.step, waitedUs: (one.got_batch_ns - one.began_ns) / 1000 }))
    const meanUs = waits.reduce((sum, one) => sum + one.waitedUs, 0) / waits.length
    const run = await app.run(name)

    await app.open(`/run/${run.id}/overview`)
    await expect(page.getByRole('region', { name: 'Verdict' }).locator('.headline')).toContainText(
      `every ${every} step`,
    )
    const shown = page.locator('[data-question="summary.ranks"] [data-field="idle_by_cause.data_us"]').first()
    const dataUs = Number(await shown.getAttribute('data-value'))
    expect(Math.abs(dataUs / meanUs - 1)).toBeLessThan(0.02)

    // Of the steps in sight the path of the longest is shown, which is one that stalls.
    await app.openTimeline(run.id)
    await page.getByRole('button', { name: 'Critical path' }).click()
    const bound = page.locator('[data-question^="critical-path.by_bound"] [data-entry]').first()
    await expect(bound).toContainText('data loading')
    expect(Number(await bound.getAttribute('data-value'))).toBeGreaterThan(0.5)
    const stalling = waits.filter((one) => one.waitedUs > 100_000).map((one) => `path:${one.step}`)
    expect(stalling).toContain(app.param('tour'))
  })
