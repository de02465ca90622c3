// The Compare page: one training in two precisions, two ranks of one run, two steps, and sides that cannot be compared.
import type { Page } from '@playwright/test'
import { expect, test, type App } from './fixtures'
import { compare } from './shownNumbers'

interface Side {
  readonly period_us: number
}
interface Answer {
  readonly data: {
    readonly a: Side
    readonly b: Side
    readonly verdict: { readonly word: string; readonly sentence: { en: string }; readonly delta_us: number }
    readonly explained: readonly { readonly delta_us: number }[]
  }
}

async function settled(page: Page): Promise<void> {
  await expect(page.getByRole('region', { name: 'Verdict of the comparison' })).toBeVisible()
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
}

async function pair(app: App): Promise<{ a: string; b: string }> {
  return { a: (await app.run('pair_fp32')).id, b: (await app.run('pair_bf16')).id }
}

test('a run is picked from the list; verdict, explanations and every table are those of compare', async ({
  app,
  page,
}) => {
  const { a, b } = await pair(app)
  await app.open(`/run/${a}/compare`)
  await page.getByRole('grid').getByRole('gridcell', { name: 'pair_bf16', exact: true }).first().click()
  await settled(page)
  expect(app.param('vs')).toBe(b)
  const { data } = await app.api<Answer>(`compare?a=${a}&b=${b}`)
  expect(data.verdict.word).toBe('faster')
  await expect(page.getByRole('region', { name: 'Verdict of the comparison' })).toContainText(data.verdict.sentence.en)
  // The bars add up to the difference, to the nanosecond.
  const shown = await page
    .locator('.fall [data-field=delta_us]')
    .evaluateAll((all) => all.map((one) => Number((one as HTMLElement).dataset['value'])))
  expect(shown).toHaveLength(data.explained.length)
  expect(shown.reduce((sum, one) => sum + Math.round(one * 1000), 0)).toBe(Math.round(data.verdict.delta_us * 1000))
  for (const tab of ['Operators', 'Kernels', 'Categories', 'Findings']) {
    await page.getByRole('radio', { name: new RegExp(`^${tab} \\(`) }).click()
    await expect(page.getByRole('grid', { name: tab, exact: true })).toBeVisible()
    const seen = await compare(app, a, 0, { path: 'compare' })
    expect(seen.wrong).toEqual([])
    expect(seen.compared).toBeGreaterThan(20)
  }
})

test('sides are swapped, opened side by side, and dropped again', async ({ app, page }) => {
  const { a, b } = await pair(app)
  await app.open(`/run/${a}/compare?vs=${b}`)
  await settled(page)
  await page.getByRole('button', { name: 'Swap A and B' }).click()
  await expect.poll(() => app.param('vs')).toBe(a)
  await expect(page.getByRole('region', { name: 'Verdict of the comparison' })).toContainText('Slower')
  expect(await page.getByRole('link', { name: 'Timelines side by side' }).getAttribute('href')).toContain('/timeline')
  await page.getByRole('button', { name: 'Stop comparing' }).click()
  await expect.poll(() => app.param('vs')).toBeNull()
  await expect(page.getByRole('heading', { name: 'Two steps of this run' })).toBeVisible()
})

test('two ranks of one run, and two steps, which are too few to judge', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.open(`/run/${run.id}/compare`)
  // The rank that a finding singles out is offered at once.
  await expect(page.getByRole('combobox', { name: 'B' }).first()).toHaveValue('2')
  await page.getByRole('button', { name: 'Compare ranks' }).click()
  await settled(page)
  expect([app.param('rank'), app.param('vs')]).toEqual(['0', `${run.id}:2`])
  const seen = await compare(app, run.id, 0, { path: 'compare' })
  expect(seen.wrong).toEqual([])
  await app.open(`/run/${run.id}/compare`)
  await page.getByRole('button', { name: 'Compare steps' }).click()
  await settled(page)
  await expect(page.getByRole('region', { name: 'Verdict of the comparison' })).toContainText('Not comparable')
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const])
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    const { a, b } = await pair(app)
    await app.open(`/run/${a}/compare?vs=${b}`, look)
    await expect(page.getByRole('grid').first()).toBeVisible()
    await app.axe()
    await app.open(`/run/${a}/compare`, look)
    await expect(page.getByRole('grid').first()).toBeVisible()
    await app.axe()
  })
