// The Memory page: peak, owners that add up, leaks with their reason, steps, fragmentation.
import { CARD_STEPS, MEMORY, MIB } from './cardCaptures'
import { expect, test } from './fixtures'

/** In the last step everything that was kept is there, and the temporary block. */
const PEAK = MEMORY.weights + CARD_STEPS * MEMORY.kept + MEMORY.temporary

test('the peak is the allocator’s, and its owners add up to the byte', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory`)
  await expect(page.getByText(`${PEAK / MIB} MiB`).first()).toBeVisible()
  await expect(page.getByText('of 7.451 GiB')).toBeVisible()
  const exact = PEAK.toLocaleString('en-US')
  await expect(page.getByText(`The rows add up to ${exact} B, exactly the ${exact} B of Allocated`)).toBeVisible()
  const owners = page.getByRole('grid', { name: 'Owners at the peak' })
  await expect(owners.getByRole('row').nth(1)).toContainText(`${(CARD_STEPS * MEMORY.kept) / MIB} MiB`)
})

test('a click on the curve asks who owned memory then; the way back leads to the peak', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory`)
  const chart = page.getByRole('img', { name: 'Memory of cuda:0 caching allocator' })
  await expect(chart.locator('canvas')).toBeVisible()
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart has no place')
  await page.mouse.click(box.x + box.width / 2, box.y + box.height / 2)
  await expect.poll(() => app.param('at')).toMatch(/^\d+$/)
  await expect(page.getByRole('grid', { name: /^Owners at \d/ })).toBeVisible()
  await expect(page.getByText(/The rows add up to .* exactly/)).toBeVisible()
  await page.getByRole('button', { name: 'Back to the peak' }).click()
  await expect(page.getByRole('grid', { name: 'Owners at the peak' })).toBeVisible()
})

test('dragging over a stretch asks for its highest moment', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory`)
  const chart = page.getByRole('img', { name: 'Memory of cuda:0 caching allocator' })
  await expect(chart.locator('canvas')).toBeVisible()
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart has no place')
  await page.mouse.move(box.x + box.width * 0.2, box.y + box.height / 2)
  await page.mouse.down()
  await page.mouse.move(box.x + box.width * 0.5, box.y + box.height / 2, { steps: 4 })
  await page.mouse.up()
  await expect.poll(() => app.param('at')).toMatch(/^\d+$/)
  // The highest moments are those with the temporary block.
  await expect(page.getByRole('grid', { name: /^Owners at/ })).toContainText(/4(\.0+)? MiB/)
})

test('the leak is found with its reason and its births; the weights are cleared', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory`)
  await page.getByRole('radio', { name: 'Leaks' }).click()
  await expect(page.getByText('1 allocation site leaks.')).toBeVisible()
  const grid = page.getByRole('grid', { name: 'Leaks' })
  await grid.getByRole('row').nth(1).click()
  await expect(
    page.getByText(/^From step 2 on, blocks of 22 of the 22 observed steps were never freed\.$/).last(),
  ).toBeVisible()
  await page.getByRole('button', { name: /Show as table: Blocks alive at the end/ }).click()
  await expect(page.getByRole('grid', { name: /^Blocks alive at the end/ })).toHaveAttribute(
    'aria-rowcount',
    String(CARD_STEPS + 1),
  )
  await page.getByRole('button', { name: /^All \d+ sites/ }).click()
  await expect(grid).toContainText('no leak')
})

test('steps side by side, fragmentation, lifetimes and spaces answer', async ({ app, page }) => {
  const run = await app.run('leaky')
  await app.open(`/run/${run.id}/memory?tab=steps`)
  const steps = page.getByRole('grid', { name: 'What each step allocated and freed' })
  await expect(steps.getByRole('row').nth(2)).toContainText(/5(\.0+)? MiB/)
  await page.getByRole('combobox', { name: 'Base step' }).selectOption('3')
  await page.getByRole('combobox', { name: 'Compared step' }).selectOption('9')
  await expect(page.getByText(/^Step 3 and step 9:/)).toBeVisible()
  await page.getByRole('radio', { name: 'Fragmentation' }).click()
  await expect(page.getByRole('meter', { name: 'Reserved but unused at the peak' })).toHaveAttribute(
    'aria-valuenow',
    '66',
  )
  await page.getByRole('radio', { name: 'Lifetimes' }).click()
  await expect(page.getByRole('img', { name: 'Blocks by lifetime' })).toBeVisible()
  await page.getByRole('radio', { name: 'Spaces' }).click()
  await expect(page.getByRole('grid', { name: 'Spaces' })).toContainText('caching allocator')
})

test('a capture without memory says why and how to collect it', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/memory`)
  await expect(page.getByText(/Memory was not recorded/)).toBeVisible()
  await expect(page.getByText('profile_memory=True').first()).toBeVisible()
})

for (const look of [{ language: 'en', theme: 'light' } as const, { language: 'zh', theme: 'dark' } as const]) {
  for (const tab of ['owners', 'leaks', 'steps', 'fragmentation']) {
    test(`axe finds nothing serious in ${tab} (${look.language}, ${look.theme})`, async ({ app, page }) => {
      const run = await app.run('leaky')
      await app.open(`/run/${run.id}/memory?tab=${tab}`, look)
      await expect(page.getByRole('grid').first()).toBeVisible()
      await app.axe()
    })
  }
}
