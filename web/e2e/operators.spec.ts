// The Operators page: the numbers of `operators` and `flops`, its groupings, search, choice and links.
import { CARD_STEPS } from './cardCaptures'
import { expect, test } from './fixtures'

/** Kernels of 2000, 2001, … µs, one in each step. */
const TOTAL_US = CARD_STEPS * 2000 + (CARD_STEPS * (CARD_STEPS - 1)) / 2

test('the table has the numbers of the analysis, by type and by kernel', async ({ app, page }) => {
  const run = await app.run('leaky')
  const { data } = await app.api<{ data: { name: string; total_us: number; count: number }[] }>(
    `run/${run.id}/operators?by=kernel&rank=0`,
  )
  expect(data.find((row) => row.name === 'gemm_kernel')).toMatchObject({ total_us: TOTAL_US, count: CARD_STEPS })
  await app.open(`/run/${run.id}/operators`)
  const grid = page.getByRole('grid', { name: 'Operators in detail' })
  await expect(grid).toContainText('gemm_kernel')
  await expect(grid.getByRole('gridcell', { name: `${(TOTAL_US / 1000).toPrecision(4)} ms` }).first()).toBeVisible()
  await page.getByRole('radio', { name: 'Kernel' }).click()
  await expect.poll(() => app.param('by')).toBe('kernel')
  await expect(grid).toContainText('aten::mm')
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

test('a chosen row shows its longest runs, each a link to its slice on the timeline', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/operators?by=kernel`)
  await page.getByRole('grid', { name: 'Operators in detail' }).getByText('gemm_kernel').first().click()
  await expect(page.getByText(`1 selected: ${CARD_STEPS} calls`)).toBeVisible()
  const runs = page.getByRole('grid', { name: /runs$/ })
  // The kernel of the last step is the longest.
  await expect(runs.getByRole('row').nth(1)).toContainText(`${(2000 + CARD_STEPS - 1) / 1000} ms`)
  await runs.getByRole('link').first().click()
  await expect(page.getByRole('heading', { name: 'Timeline' })).toBeAttached()
  await expect.poll(() => app.param('sel')).toMatch(/^0:\d+$/)
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
  await page.getByRole('button', { name: /Show as table: Top 1/ }).click()
  await expect(page.getByRole('grid', { name: /^Top 1/ })).toContainText('100.0%')
  await page.getByRole('radio', { name: 'Donut' }).click()
  await expect.poll(() => app.param('chart')).toBe('donut')
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
  for (const by of ['type', 'kernel', 'operator', 'category', 'core']) {
    await app.open(`/run/${run.id}/operators?by=${by}&lane=all&side=device`)
    const grid = page.getByRole('grid', { name: 'Operators in detail' })
    await grid.getByRole('row').nth(1).getByRole('gridcell').last().click()
    const runs = page.getByRole('grid', { name: / runs$/ })
    await expect(runs.getByRole('row').nth(1), by).toBeInViewport()
    await runs.getByRole('row').nth(1).getByRole('link').first().click()
    await expect.poll(() => app.param('sel')).not.toBeNull()
  }
})
