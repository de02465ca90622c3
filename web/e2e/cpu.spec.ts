// The CPU page: the machine, curves, means of a stretch, and every step.
import { CARD_STEPS, CORES } from './cardCaptures'
import { expect, test } from './fixtures'

const RUN = 'loader_1_20231114221320000_ascend_pt'

test('the machine is told in cores, without a verdict of the page', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/cpu`)
  await expect(page.getByRole('definition').filter({ hasText: /^\s*8\s*$/ })).toBeVisible()
  await expect(page.getByText(`${CORES.others} cores`).first()).toBeVisible()
})

test('curves have twins, and a drag gives the means of a stretch', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/cpu`)
  const chart = page.getByRole('img', { name: 'Training process' })
  await expect(chart.locator('canvas')).toBeVisible()
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart has no place')
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.8, box.y + box.height / 2, { steps: 4 })
  await page.mouse.up()
  const means = page.getByRole('status').filter({ hasText: 'process 100' })
  await expect(means).toContainText('machine 4 cores')
  await expect(means).toContainText('process 100 1 core')
  await page.getByRole('button', { name: 'Whole run' }).click()
  await expect(means).toHaveCount(0)
  await page.getByRole('button', { name: 'Show as table: Machine' }).click()
  await expect(page.getByRole('grid', { name: 'Machine' })).toHaveAttribute('aria-rowcount', String(CARD_STEPS + 1))
})

test('means over the run and in each step', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/cpu`)
  const uses = page.getByRole('grid', { name: 'Mean use, in cores' })
  await expect(uses.getByRole('row').filter({ hasText: 'process 100' })).toContainText('0.75')
  const steps = page.getByRole('grid', { name: 'Mean use in each step, in cores' })
  await steps.getByRole('link', { name: '5', exact: true }).first().click()
  await expect.poll(() => app.param('step')).toBe('5')
})

test('a capture without CPU samples says why and how to collect them', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/cpu`)
  await expect(page.getByText('CPU use was not recorded in this capture.')).toBeVisible()
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const]) {
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    const run = await app.run(RUN)
    await app.open(`/run/${run.id}/cpu`, look)
    await expect(page.getByRole('grid').first()).toBeVisible()
    await app.axe()
  })
}
