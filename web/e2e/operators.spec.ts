// The Operators page: the numbers of `operators` and `flops`, its groupings, search, choice and links.
import { CARD_STEPS } from './cardCaptures'
import { COPY_US, KERNEL_US, STEPS } from './captures'
import { expect, test } from './fixtures'

/** Kernels of 2000, 2001, … µs, one in each step. */
const TOTAL_US = CARD_STEPS * 2000 + (CARD_STEPS * (CARD_STEPS - 1)) / 2

test('the table has the numbers of the analysis, by type and by kernel', async ({ app, page }) => {
  const run = await app.run('leaky')
  const { data } = await app.api<{ data: { name: string; total_us: number; count: number }[] }>(
    `run/${run.id}/operators?by=kernel&lane=all&rank=0`,
  )
  expect(data.find((row) => row.name === 'gemm_kernel')).toMatchObject({ total_us: TOTAL_US, count: CARD_STEPS })
  await app.open(`/run/${run.id}/operators`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  await expect(grid).toContainText('gemm_kernel')
  await expect(grid.getByRole('gridcell', { name: `${(TOTAL_US / 1000).toFixed(3)} ms` }).first()).toBeVisible()
  await page.getByRole('radio', { name: 'Kernel' }).click()
  await expect.poll(() => app.param('by')).toBe('kernel')
  await grid.getByText('gemm_kernel').first().click()
  await expect(page.getByRole('complementary', { name: 'Details' })).toContainText('aten::mm')
})

test('every grouping answers, on the device and on the host', async ({ app, page }) => {
  // A product with one operand: FLOPs cannot be told, and the server says so.
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  for (const by of ['Kernel', 'Operator', 'Shape', 'Module', 'Category', 'Core', 'Type']) {
    await page.getByRole('radiogroup', { name: 'Group by' }).getByRole('radio', { name: by }).click()
    await expect(grid.getByRole('row').nth(1)).toBeVisible()
  }
  await page.getByRole('radio', { name: 'Host' }).click()
  await expect(grid).toContainText('aten::mm')
  await page.getByRole('radio', { name: 'Device' }).click()
  await page.getByRole('combobox', { name: 'Work' }).selectOption('copy')
  await expect(grid).toContainText('Memcpy HtoD')
})

test('search by kernel and by owning operator, and a way back from nothing', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators?by=kernel&lane=all`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  const box = page.getByRole('searchbox', { name: 'Search' })
  await box.fill('gemm')
  await expect(grid.getByRole('row')).toHaveCount(2)
  await page.getByRole('combobox', { name: 'Where to search' }).selectOption('operator')
  await box.fill('aten::mm')
  await expect.poll(() => app.param('q')).toBe('aten::mm')
  await expect(grid).toContainText('gemm_kernel')
  await box.fill('no such thing')
  await expect(page.getByText('No operator matches')).toBeVisible()
  await page.getByRole('button', { name: 'Clear filters' }).click()
  await expect(grid).toContainText('gemm_kernel')
})

test('a chosen row shows beside it what it consists of, and its longest runs lead to the timeline', async ({
  app,
  page,
}) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/operators?by=kernel`)
  await page.getByRole('grid', { name: 'Operators in detail' }).getByText('gemm_kernel').first().click()
  const panel = page.getByRole('complementary', { name: 'Details' })
  await expect(panel.getByRole('img', { name: 'Total in each step' })).toBeVisible()
  await expect(panel.getByRole('img', { name: 'Distribution of durations' })).toBeVisible()
  await expect(panel.getByRole('grid', { name: 'By input shapes' })).toContainText('[[512,512]')
  const runs = panel.getByRole('grid', { name: 'Longest executions' })
  // The kernel of the last step is the longest.
  await expect(runs.getByRole('row').nth(1)).toContainText(`${((2000 + CARD_STEPS - 1) / 1000).toFixed(3)} ms`)
  await runs.getByRole('link').first().click()
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeAttached()
  await expect.poll(() => app.param('sel')).toMatch(/^0:\d+$/)
})

test('rows added with Ctrl have a sub-total', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators?by=kernel`)
  const rows = page.getByRole('grid', { name: 'Operators in detail' }).getByRole('row')
  await rows.nth(1).click()
  await rows.nth(2).click({ modifiers: ['Control'] })
  await expect(page.getByText(`2 selected: ${2 * STEPS.length} calls`)).toBeVisible()
  await page.getByRole('button', { name: 'Clear the selection' }).first().click()
  await expect.poll(() => app.param('pick')).toBeNull()
})

test('all work is shown until one kind is chosen, and the donut shows the same', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators?by=category`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  await expect(grid).toContainText('Copy')
  const copies = (STEPS.length * COPY_US) / 1000
  const all = STEPS.length * (COPY_US + KERNEL_US)
  await expect(grid).toContainText(`${((copies * 100_000) / all).toFixed(1)}%`)
  await page.getByRole('button', { name: 'Show as table: Device time by category' }).click()
  await expect(page.getByRole('grid', { name: 'Device time by category' })).toContainText('Copy')
  await page.getByRole('combobox', { name: 'Work' }).selectOption('compute')
  await expect(grid).not.toContainText('Copy')
  await expect(page.getByRole('grid', { name: 'Device time by category' })).not.toContainText('Copy')
})

test('the table begins near the top, is sorted by the server, and a pinned column stays in sight', async ({
  app,
  page,
}) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators?by=kernel`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  await expect(grid.getByRole('row').nth(1)).toBeVisible()
  expect((await grid.boundingBox())?.y).toBeLessThan(260)
  const asked = page.waitForRequest((request) => request.url().includes('sort=avg_us'))
  await grid.getByRole('button', { name: 'Mean' }).click()
  await asked
  await expect(grid.getByRole('columnheader', { name: 'Mean' })).toHaveAttribute('aria-sort', 'descending')
  await page.getByRole('button', { name: 'Columns' }).click()
  for (const name of ['Core', 'Owning operator', 'Min', 'Max', 'p95', 'Median', 'Per step'])
    await page.getByRole('checkbox', { name, exact: true }).check()
  await page.keyboard.press('Escape')
  await expect(page.getByRole('checkbox', { name: 'Core', exact: true })).toHaveCount(0)
  const first = grid.getByRole('gridcell', { name: 'gemm_kernel' })
  const before = (await first.boundingBox())?.x
  await grid.evaluate((element) => (element.scrollLeft = 400))
  await expect.poll(async () => (await first.boundingBox())?.x).toBe(before)
})

test('FLOPs are counted: 2 · 512³ for each product', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/operators`)
  const flops = page.getByRole('grid', { name: 'FLOPs by operator' })
  await expect(flops).toContainText('6.442 GFLOP')
  await page.getByRole('button', { name: 'Show as table: Arithmetic intensity and achieved rate' }).click()
  await expect(page.getByRole('grid', { name: 'Arithmetic intensity and achieved rate' })).toContainText('85.33 FLOP/B')
})

test('charts have twins, PNG and CSV', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/operators`)
  await expect(page.getByRole('img', { name: 'Device time by category' })).toBeVisible()
  const picture = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export PNG: Device time by category' }).click()
  expect((await picture).suggestedFilename()).toBe('leaky-rank0-Device_time_by_category.png')
  const table = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).first().click()
  expect((await table).suggestedFilename()).toBe('leaky-rank0-Operators_in_detail.csv')
})

test('script in an operator’s name stays text, on both sides', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/operators?by=operator&side=host`)
  await expect(page.getByRole('grid', { name: 'Operators in detail' })).toContainText('<img src=x onerror=')
  await expect(page).not.toHaveTitle('owned')
})

for (const look of [{ language: 'en', theme: 'light' } as const, { language: 'zh', theme: 'dark' } as const]) {
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    const run = await app.run('leaky')
    await app.open(`/run/${run.id}/operators`, look)
    await expect(page.getByRole('grid').first()).toBeVisible()
    await app.axe()
  })
}

test('a click on a row of any grouping brings the slices that its total is made of', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  const panel = page.getByRole('complementary', { name: 'Details' })
  for (const [by, side] of [
    ['type', 'device'],
    ['kernel', 'device'],
    ['operator', 'device'],
    ['module', 'device'],
    ['category', 'device'],
    ['core', 'device'],
    ['operator', 'host'],
    ['shape', 'host'],
  ] as const) {
    await app.move(`/run/${run.id}/operators`, { by, side })
    await expect(grid).toHaveAttribute('data-question', new RegExp(`by=${by}&side=${side}`))
    await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
    const total = (await grid.getByRole('row').nth(1).getByRole('gridcell').nth(1).textContent()) ?? ''
    await grid.getByRole('row').nth(1).getByRole('gridcell').last().click()
    await expect(panel.getByRole('grid', { name: 'Longest executions' }).getByRole('row').nth(1), by).toBeInViewport()
    const shown = Number(await panel.locator('[data-field=total_us]').first().getAttribute('data-value'))
    expect(shown, `${by} ${side}`).toBeCloseTo(parseFloat(total) * (total.trim().endsWith('ms') ? 1000 : 1), 0)
  }
})
