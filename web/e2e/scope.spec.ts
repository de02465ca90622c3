// The frame's tools: ranks of the address, the palette, where a number comes from, A against B, tours, what-if, dropping a file.
import { capture } from './captures'
import { expect, test } from './fixtures'

test('ranks are chosen by typing, by a preset and in the grid', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.open(`/run/${run.id}/overview`)
  await page.getByRole('button', { name: /^Rank:/ }).click()
  const picker = page.getByRole('dialog', { name: 'Choose ranks' })
  const typed = picker.getByRole('textbox')
  await typed.fill('0-1,99')
  await expect(picker).toContainText('not in this run: 99')
  await typed.fill('0-1,3')
  await typed.press('Enter')
  await expect.poll(() => app.param('rank')).toBe('0-1,3')
  await picker.getByRole('button', { name: '4 slowest' }).click()
  await expect.poll(() => app.param('rank')).toBe('slow:4')
  // The slowest is the rank of pages that show one.
  await expect(page.getByText('A step takes').first()).toContainText('rank 2')
  const grid = picker.locator('canvas')
  const size = Number(await grid.getAttribute('data-size'))
  await grid.click({ position: { x: size * 1.5, y: size / 2 } })
  await expect.poll(() => app.param('rank')).toBe('1')
  await grid.click({ position: { x: size * 3.5, y: size / 2 }, modifiers: ['Shift'] })
  await expect.poll(() => app.param('rank')).toBe('1,3')
  await page.keyboard.press('Escape')
  await expect(picker).toHaveCount(0)
})

test('Ctrl+K leads to pages, ranks, operators and other runs, also from the timeline', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  const other = await app.run('job')
  await app.openTimeline(run.id)
  const go = async (words: string): Promise<void> => {
    await page.keyboard.press('Control+k')
    await page.getByRole('combobox', { name: 'Go to or do' }).fill(words)
    await page
      .getByRole('listbox', { name: 'Go to or do' })
      .getByRole('option')
      .filter({ hasText: words.split(' ').at(-1) ?? '' })
      .first()
      .click()
  }
  await go('rank 3')
  await expect.poll(() => app.param('rank')).toBe('3')
  await go('Operators')
  await expect(page.getByRole('heading', { name: 'Operators', level: 1 })).toBeVisible()
  await go('compare job')
  await expect.poll(() => app.param('vs')).toBe(other.id)
  const versus = page.getByRole('group', { name: 'Comparison' })
  await expect(versus).toContainText('job')
  await versus.getByRole('button', { name: 'Swap A and B' }).click()
  await expect.poll(() => page.url()).toContain(`/run/${other.id}/operators`)
  expect(app.param('vs')).toBe(run.id)
  await versus.getByRole('button', { name: 'Stop comparing' }).click()
  await expect(versus).toHaveCount(0)
})

test('another run is shown on the same page with the same rank', async ({ app, page }) => {
  const [run, other] = [await app.run('four_ranks'), await app.run('job')]
  await app.open(`/run/${run.id}/operators?rank=1&by=kernel`)
  await page.getByRole('combobox', { name: 'Run' }).selectOption(other.id)
  await expect.poll(() => page.url()).toContain(`/run/${other.id}/operators`)
  expect([app.param('rank'), app.param('by')]).toEqual(['1', 'kernel'])
})

test('a number says where it comes from', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/overview`)
  await page.getByText(/^Idle for .* of a step/).click({ modifiers: ['Alt'] })
  const sheet = page.getByRole('dialog', { name: 'Where this number comes from' })
  await expect(sheet).toContainText('summary · ranks.idle_us')
  await expect(sheet).toContainText('Formula')
  await page.keyboard.press('Escape')
  await expect(sheet).toHaveCount(0)
})

test('J and K walk along the proofs of a finding', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.open(`/run/${run.id}/advice`)
  await page
    .getByRole('article')
    .first()
    .getByRole('link', { name: /^Walk through/ })
    .click()
  const tour = page.getByRole('region', { name: 'Tour' })
  await expect(tour).toContainText('stop 1 of')
  await app.settled()
  const first = app.param('range')
  await page.keyboard.press('j')
  await expect(tour).toContainText('stop 2 of')
  await expect.poll(() => app.param('range')).not.toBe(first)
  await page.keyboard.press('k')
  await expect.poll(() => app.param('range')).toBe(first)
  await tour.getByRole('button', { name: 'End the tour' }).click()
  await expect(tour).toHaveCount(0)
})

interface WhatIf {
  readonly data: { readonly changed_us: number; readonly period_us: number }
}

test('a slider replays the step, and the address keeps it', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  const { data } = await app.api<WhatIf>(`run/${run.id}/whatif?changes=${encodeURIComponent('rank:2=median')}`)
  expect(data.changed_us).toBeLessThan(data.period_us)
  await app.open(`/run/${run.id}/advice`)
  const panel = page.getByRole('region', { name: 'What if?' })
  const predicted = panel.locator('[data-field=changed_us]')
  await expect(predicted).toHaveAttribute('data-value', String(data.period_us))
  await panel.getByRole('checkbox').first().check()
  await expect(predicted).toHaveAttribute('data-value', String(data.changed_us))
  await expect.poll(() => app.param('whatif')).toBe('rank:2*0')
  await panel.getByRole('button', { name: 'Reset' }).click()
  await expect(predicted).toHaveAttribute('data-value', String(data.period_us))
})

test('a capture dropped on any page is opened', async ({ app, page }) => {
  app.refusals = true
  const run = await app.run('job')
  await app.open(`/run/${run.id}/sql`)
  const files = await page.evaluateHandle((text) => {
    const data = new DataTransfer()
    data.items.add(new File([text], 'dropped_anywhere.json', { type: 'application/json' }))
    return data
  }, capture(0))
  await page.dispatchEvent('main', 'drop', { dataTransfer: files })
  await expect.poll(() => page.url()).not.toContain(run.id)
  await expect(page.getByRole('region', { name: 'Verdict' })).toBeVisible()
})
