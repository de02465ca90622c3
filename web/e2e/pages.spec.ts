// The numbers on the pages are the numbers of the analyses.
import { COPY_US, KERNEL_US, STEP_US, STEPS } from './captures'
import { expect, test } from './fixtures'

test('the overview says how long a step takes and leads on', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/overview`)
  await expect(page.getByText(/^A step takes .* max 1 ms/)).toBeVisible()
  await expect(page.getByText(`${KERNEL_US} µs`).first()).toBeVisible()
  await page.getByRole('link', { name: 'Steps' }).last().click()
  await expect(page.getByRole('heading', { name: 'Steps', level: 1 })).toBeVisible()
})

test('operators around others are no idle time', async ({ app, page }) => {
  const run = await app.run('host')
  await app.open(`/run/${run.id}/overview`)
  const cards = page.getByRole('main').getByRole('link')
  await expect(cards.filter({ hasText: 'in operators around others' })).toContainText('70.0%')
  await expect(cards.filter({ hasText: /^Idle/ }).first()).toContainText('30.0%')
  await page.getByRole('link', { name: 'Steps', exact: true }).first().click()
  await expect(page.getByText('Idle 300 µs 30.0%')).toBeVisible()
})

test('the table of steps shows every step with its parts', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/steps`)
  const grid = page.getByRole('grid', { name: 'Steps' })
  await expect(grid.getByRole('row')).toHaveCount(STEPS.length + 1)
  await expect(grid).toContainText(new RegExp(String.raw`${STEP_US / 1000}(\.0+)? ms`))
  // Read across, all times of the table have one unit.
  await expect(grid).toContainText(`${COPY_US / 1000} ms`)
  // First the charts above the table: while they arrive, its rows move.
  await page.getByRole('button', { name: /Show as table: Time of each step/ }).click()
  await expect(page.getByRole('grid', { name: 'Time of each step' })).toContainText(/1(\.0+)? ms/)
  await grid.getByRole('row').nth(1).getByRole('gridcell').nth(1).click()
  await expect.poll(() => app.param('step')).toBe('1')
})

test('parts of a step lead to pages that have something to show', async ({ app, page }) => {
  for (const name of ['job', 'host', 'interval', 'slow']) {
    const run = await app.run(name)
    await app.open(`/run/${run.id}/steps`)
    await expect(page.getByRole('main').getByRole('link', { name: 'Idle' }).first()).toBeVisible()
    const notRecorded = await page
      .getByRole('navigation')
      .locator('details a')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')?.split(/[/?]/)[3] ?? ''))
    expect(notRecorded).not.toEqual([])
    for (const id of notRecorded) await expect(page.getByRole('main').locator(`a[href*="/${id}"]`)).toHaveCount(0)
  }
})

test('a query is answered as table and as chart, and a wrong one with a sentence', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/sql`)
  const box = page.getByRole('textbox', { name: 'Query' })
  await box.fill('SELECT kind, count(*) AS n FROM slices WHERE rank = 0 GROUP BY kind ORDER BY n DESC')
  await box.press('Control+Enter')
  await expect(page.getByRole('grid', { name: 'Result' })).toContainText('kernel')
  await page.getByRole('radio', { name: 'Chart' }).click()
  await expect(page.getByRole('img', { name: 'n / kind' })).toBeVisible()
  await box.fill('SELECT nonsense FROM nowhere')
  await box.press('Control+Enter')
  await expect(page.getByRole('alert')).toContainText('nowhere')
  // What an earlier query found is not its answer.
  await expect(page.getByRole('img', { name: 'n / kind' })).toHaveCount(0)
})

test('a query is completed, saved by name, and its slices lead to the timeline', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/sql`)
  const box = page.getByRole('textbox', { name: 'Query' })
  await box.fill('')
  await box.pressSequentially('SELECT rank, slice, name, start_ns, dur_ns FROM sli')
  await expect(page.getByRole('option', { name: /^slices/ })).toBeVisible()
  await page.keyboard.press('Tab')
  await box.pressSequentially(" WHERE kind = 'kernel' AND dur")
  await expect(page.getByRole('option', { name: /^dur_ns/ })).toBeVisible()
  await page.keyboard.press('Enter')
  await box.pressSequentially(' > 0 ORDER BY rank, slice')
  await page.keyboard.press('Escape')
  await box.press('Control+Enter')
  const grid = page.getByRole('grid', { name: 'Result' })
  await expect(grid).toContainText('gemm_kernel')
  await expect(page.getByRole('link', { name: 'Show as track' })).toHaveAttribute('href', /track=sql/)
  await page.getByRole('textbox', { name: 'Save as…' }).fill('kernels of all ranks')
  await page.getByRole('button', { name: 'Save', exact: true }).click()
  await expect(page.getByRole('button', { name: 'kernels of all ranks', exact: true })).toBeVisible()
  await box.fill('SELECT 1 AS one')
  await box.press('Control+Enter')
  await expect(grid).not.toContainText('gemm_kernel')
  await page.reload()
  await page.getByRole('button', { name: 'kernels of all ranks', exact: true }).click()
  await expect(grid).toContainText('gemm_kernel')
  await page.getByRole('button', { name: 'Forget “kernels of all ranks”' }).click()
  await expect(page.getByRole('button', { name: 'kernels of all ranks', exact: true })).toHaveCount(0)
  await grid.getByRole('row').nth(1).getByRole('link').nth(1).click()
  await expect.poll(() => app.param('sel')).toMatch(/^0:\d+$/)
})

test('a long result comes in stretches that the server sorts', async ({ app, page }) => {
  const run = await app.run('job')
  const query = 'SELECT range AS number FROM range(12000)'
  await app.open(`/run/${run.id}/sql?q=${encodeURIComponent(query)}`)
  const grid = page.getByRole('grid', { name: 'Result' })
  await expect(page.getByText('1–5,000 of 12,000')).toBeVisible()
  await grid.getByRole('button', { name: 'number' }).click()
  await expect(grid.getByRole('row').nth(1)).toContainText('11999')
  await page.getByRole('button', { name: 'Next rows' }).click()
  await expect(page.getByText('5,001–10,000 of 12,000')).toBeVisible()
  await expect(grid.getByRole('row').nth(1)).toContainText('6999')
})

test('columns of every table are listed with their meaning', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/sql`)
  const tree = page.getByRole('complementary')
  await tree.getByText('slices', { exact: true }).click()
  await expect(tree.getByRole('button', { name: 'dur_ns', exact: true })).toBeVisible()
  await tree.getByRole('button', { name: 'First 100 rows' }).first().click()
  await expect(page.getByRole('grid', { name: 'Result' })).toContainText('gemm_kernel')
})

test('tables are filtered, sorted and saved as CSV', async ({ app, page }) => {
  const run = await app.run('job')
  const query = 'SELECT slice, name, start_ns, dur_ns FROM slices WHERE rank = 0 ORDER BY slice'
  await app.open(`/run/${run.id}/sql?q=${encodeURIComponent(query)}`)
  const grid = page.getByRole('grid', { name: 'Result' })
  await page.getByRole('searchbox', { name: 'Filter' }).fill('gemm')
  await expect(grid.getByRole('row')).toHaveCount(4)
  // Nanoseconds since 1970 are more than a number of JavaScript holds: the second step's kernel is at 1,120 µs.
  await page.getByRole('searchbox', { name: 'Filter' }).fill('gemm start_ns>1700000000001119999')
  await expect(grid.getByRole('row')).toHaveCount(3)
  await page.getByRole('searchbox', { name: 'Filter' }).fill('gemm')
  await grid.getByRole('button', { name: 'dur_ns' }).click()
  await expect(grid.getByRole('columnheader', { name: /dur_ns/ })).toHaveAttribute('aria-sort', 'descending')
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export CSV' }).click()
  expect((await saved).suggestedFilename()).toBe('job-Result.csv')
})
