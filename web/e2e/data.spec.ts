// The Data page: verdict, graph, queues and batches of a training that starves.
import { CARD_STEPS, GET_MS, LOADER_CAPACITY } from './cardCaptures'
import { expect, test } from './fixtures'

const RUN = 'loader_1_20231114221320000_ascend_pt'

test('the finding comes first; below it what was seen, the numbers and what to change', async ({ app, page }) => {
  const run = await app.run(RUN)
  const { data } = await app.api<{
    data: { verdict: { op_name: string; why: { en: string }[]; advice: { en: string }[] } }
  }>(`run/${run.id}/pipeline`)
  await app.open(`/run/${run.id}/data`)
  await expect(page.locator('[data-finding^=data_starved]')).toContainText(data.verdict.op_name)
  for (const { en } of [...data.verdict.why, ...data.verdict.advice]) await expect(page.getByText(en)).toBeVisible()
  // Periods end with the kernel of each step; the last ends 3 ms after its batch, and each kernel is 1 us longer than the one before.
  const periodMs = ((CARD_STEPS - 1) * 10.001 + GET_MS + 3) / CARD_STEPS
  await expect(page.getByText(`${((100 * GET_MS) / periodMs).toFixed(1)}%`).first()).toBeVisible()
  await page.getByText(/^Evidence/).click()
  await expect(page.getByRole('grid', { name: 'Evidence' })).toContainText('host queue empty')
})

test('a starving step is one click from its proof', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/data`)
  await expect(page.getByText(`${CARD_STEPS} of ${CARD_STEPS} steps starve`).first()).toBeVisible()
  await page.getByRole('link', { name: '7', exact: true }).click()
  await expect.poll(() => app.param('step')).toBe('7')
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeAttached()
})

test('the graph shows stages and queues; a stage chooses the curve', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/data`)
  const graph = page.getByRole('group', { name: 'The pipeline, from reader to training' })
  await expect(graph.getByRole('button', { name: /SlowImages/ })).toBeVisible()
  await expect(graph.getByText('bottleneck')).toBeVisible()
  await expect(graph.getByRole('button', { name: 'Queue behind Collate 0.0% empty 100.0%' })).toBeVisible()
  await graph.getByRole('button', { name: /^Collate/ }).click()
  await expect.poll(() => app.param('op')).not.toBeNull()
  await expect(page.getByRole('img', { name: 'Elements in the queue behind Collate' })).toBeVisible()
})

test('dragging over the curve recomputes the tanks for that stretch', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/data`)
  const chart = page.getByRole('img', { name: 'Elements in the queue behind Collate' })
  await chart.scrollIntoViewIfNeeded()
  await expect(chart.locator('canvas')).toBeVisible()
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart has no place')
  await page.mouse.move(box.x + box.width * 0.3, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.6, box.y + box.height / 2, { steps: 4 })
  await page.mouse.up()
  await expect(page.getByText(/^Tanks show the samples between/)).toBeVisible()
  await page.getByRole('button', { name: 'Whole run' }).click()
  await expect.poll(() => app.param('w')).toBeNull()
})

test('batches and stages in numbers', async ({ app, page }) => {
  const run = await app.run(RUN)
  await app.open(`/run/${run.id}/data`)
  await expect(page.getByRole('grid', { name: 'Getting and pushing batches' })).toContainText(`${GET_MS} ms`)
  await page.getByRole('button', { name: 'Show as table: Time to get and to push each batch' }).click()
  const batches = page.getByRole('grid', { name: 'Time to get and to push each batch' })
  await expect(batches).toHaveAttribute('aria-rowcount', String(CARD_STEPS + 1))
  const stages = page.getByRole('grid', { name: 'Stages' })
  await expect(stages.getByRole('row').filter({ hasText: 'SlowImages' })).toContainText(/9(\.0+)? ms/)
  await expect(stages.getByRole('row').filter({ hasText: 'Collate' })).toContainText(String(LOADER_CAPACITY))
})

test('a capture without a pipeline says why and how to collect it', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/data`)
  await expect(page.getByText(/input pipeline was not recorded/)).toBeVisible()
  await expect(page.getByText('profiler.step()').first()).toBeVisible()
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const]) {
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    const run = await app.run(RUN)
    await app.open(`/run/${run.id}/data`, look)
    await expect(page.getByRole('grid').first()).toBeVisible()
    await app.axe()
  })
}
