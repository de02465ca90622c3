// The page of all ranks: on four of which rank 2 computes longer, and on a simulated pipeline of sixteen.
import type { Page } from '@playwright/test'
import { expect, test, type App, type Run } from './fixtures'
import { compare } from './shownNumbers'

const NAME = 'four_ranks'
const SLOW = 2
const PIPELINE = 'simulated-last-stage-16'

interface Answer {
  readonly data: { readonly findings: readonly { id: string; title: { en: string } }[] }
}

async function open(
  app: App,
  page: Page,
  name = NAME,
  look: { language?: 'zh' | 'en'; theme?: 'dark' | 'light' } = {},
): Promise<Run> {
  const run = await app.run(name)
  await app.open(`/run/${run.id}/cluster`, look)
  await expect(page.getByRole('grid').first()).toBeVisible()
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
  await page.waitForLoadState('networkidle')
  return run
}

test('its first line is the finding that accuses a rank, and the navigation marks the page', async ({ app, page }) => {
  const run = await open(app, page)
  const { data } = await app.api<Answer>(`run/${run.id}/diagnose`)
  const first = page.getByRole('main').getByRole('article').first()
  await expect(first).toHaveAttribute('data-finding', data.findings[0]?.id ?? '')
  await expect(first.locator('.title')).toHaveText(data.findings[0]?.title.en ?? '')
  await expect(first.locator('.title')).toContainText(`rank ${SLOW}`)
  await expect(page.getByRole('navigation').getByRole('link', { name: 'Ranks' }).locator('.dot')).toBeVisible()
})

test('its numbers are those of the analyses', async ({ app, page }) => {
  const run = await open(app, page)
  const seen = await compare(app, run.id, 0, { path: 'cluster' })
  expect(seen.wrong).toEqual([])
  // Four ranks of six numbers at the least.
  expect(seen.compared).toBeGreaterThan(4 * 6)
})

test('the rank that stands apart comes first, and a click on it opens that rank', async ({ app, page }) => {
  await open(app, page)
  const table = page.getByRole('grid', { name: 'Every rank in numbers' })
  await expect(table.locator('[data-field=rank]').first()).toHaveAttribute('data-value', String(SLOW))
  const map = page.locator('canvas[aria-label^="All ranks: Deviation"]')
  await map.hover({ position: { x: 8, y: 8 } })
  await expect(map).toHaveAttribute('aria-label', new RegExp(`rank ${SLOW} `))
  await map.click({ position: { x: 8, y: 8 } })
  await expect(page.getByRole('heading', { name: 'Steps', level: 1 })).toBeVisible()
  expect(app.param('rank')).toBe(String(SLOW))
})

test('measure and order are chosen, and a bar opens its rank', async ({ app, page }) => {
  await open(app, page)
  await page.getByRole('combobox', { name: 'Measure' }).selectOption('computing_us')
  await expect.poll(() => app.param('measure')).toBe('computing_us')
  await page.getByRole('combobox', { name: 'Order' }).selectOption('rank')
  await expect.poll(() => app.param('order')).toBe('rank')
  const map = page.locator('canvas[aria-label^="All ranks: Computing"]')
  const box = await map.boundingBox()
  if (!box) throw new Error('the map has no place')
  await map.hover({ position: { x: box.width - 8, y: 8 } })
  await expect(map).toHaveAttribute('aria-label', /rank 3 /)
  const chart = page.getByRole('img', { name: 'What the step is made of' })
  await chart.scrollIntoViewIfNeeded()
  const place = await chart.boundingBox()
  if (!place) throw new Error('the chart has no place')
  // The first of four bars, by number; its lowest part.
  await page.mouse.click(place.x + 50 + (place.width - 98) / 8, place.y + place.height - 50)
  await expect(page.getByRole('heading', { name: 'Steps', level: 1 })).toBeVisible()
  expect(app.param('rank')).toBe('0')
})

test('stages, hosts, dimensions and groups of a pipeline, and its picture', async ({ app, page }) => {
  const run = await open(app, page, PIPELINE)
  for (const [name, value] of [
    ['Hosts', 'hosts'],
    ['Dimensions', 'by_dimension'],
    ['Groups', 'groups'],
    ['Stages', 'stages'],
  ] as const) {
    await page.getByRole('radio', { name, exact: true }).click()
    await expect.poll(() => app.param('by')).toBe(value)
    const seen = await compare(app, run.id, 0, { path: 'cluster' })
    expect(seen.wrong).toEqual([])
  }
  for (const order of ['host', 'pp', 'dp', 'tp'])
    await page.getByRole('combobox', { name: 'Order' }).selectOption(order)
  await page.getByRole('heading', { name: /Pipeline of step/ }).scrollIntoViewIfNeeded()
  const picture = page.locator('canvas[aria-label^="Pipeline of step"]')
  const box = await picture.boundingBox()
  if (!box) throw new Error('the picture has no place')
  await picture.hover({ position: { x: box.width / 2, y: 60 } })
  await expect(picture).toHaveAttribute('aria-label', /rank 8 · (Forward|Backward)/)
  await picture.click({ position: { x: box.width / 2, y: 60 } })
  await expect.poll(() => app.param('rank')).toBe('8')
})

test('a parallel plan is given, counts, and is forgotten again', async ({ app, page }) => {
  app.refusals = true
  await open(app, page, PIPELINE)
  await page.getByText('Change the plan').click()
  await page.getByRole('spinbutton', { name: 'tp' }).fill('3')
  await page.getByRole('button', { name: 'Use this plan' }).click()
  await expect(page.getByRole('alert')).toContainText('16')
  await page.getByRole('spinbutton', { name: 'tp' }).fill('4')
  await page.getByRole('button', { name: 'Use this plan' }).click()
  await expect(page.getByText('given by you')).toBeVisible()
  await expect(page.locator('[data-question^="cluster.plan.dimensions"]')).toContainText('tp 4')
  await page.getByRole('button', { name: 'Forget it' }).click()
  await expect(page.getByText('stated by the files')).toBeVisible()
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const])
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    await open(app, page, PIPELINE, look)
    await app.axe()
  })

test('ranks without communication: the page says why it is empty and how to collect', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/cluster`)
  await expect(page.getByText('This capture holds no communication between ranks')).toBeVisible()
  await expect(page.getByText('How to collect it:')).toBeVisible()
})
