// The Cluster page on a recording of four ranks of which rank 2 computes longer than the others.
import type { Page } from '@playwright/test'
import { expect, test, type App, type Run } from './fixtures'
import { compare } from './shownNumbers'

const NAME = 'four_ranks'
const SLOW = 2

interface Answer {
  readonly data: {
    readonly waits: readonly { rank: number; blames: number; root: number; wait_us: number; calls: number }[]
    readonly findings: readonly { id: string; title: { en: string } }[]
  }
}

async function open(
  app: App,
  page: Page,
  look: { language?: 'zh' | 'en'; theme?: 'dark' | 'light' } = {},
): Promise<Run> {
  const run = await app.run(NAME)
  await app.open(`/run/${run.id}/cluster`, look)
  await expect(page.getByRole('grid').first()).toBeVisible()
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
  // Four ranks of six numbers, twelve waits of five, and one operation at the least.
  expect(seen.compared).toBeGreaterThan(4 * 6 + 12 * 5 + 8)
  const { data } = await app.api<Answer>(`run/${run.id}/communication`)
  const waits = page.getByRole('grid', { name: 'Who waits for whom' })
  await expect(waits.getByRole('row')).toHaveCount(data.waits.length + 1)
  await expect(waits.locator('[data-field=root]').first()).toHaveAttribute('data-value', String(SLOW))
  await expect(page.getByText('What moved between which ranks was not recorded').last()).toBeVisible()
})

test('a click on a bar opens that rank', async ({ app, page }) => {
  await open(app, page)
  const chart = page.getByRole('img', { name: 'What the step is made of, per rank' })
  await expect(chart.locator('canvas')).toBeVisible()
  await page.getByRole('radio', { name: 'most computing' }).click()
  await expect.poll(() => app.param('order')).toBe('computing')
  const box = await chart.boundingBox()
  if (!box) throw new Error('the chart has no place')
  // The first of four bars, where most is computed; its lowest part.
  await page.mouse.click(box.x + 50 + (box.width - 98) / 8, box.y + box.height - 50)
  await expect(page.getByRole('heading', { name: 'Steps', level: 1 })).toBeVisible()
  expect(app.param('rank')).toBe(String(SLOW))
})

test('a click on who waits for whom opens both ranks on the timeline', async ({ app, page }) => {
  await open(app, page)
  const map = page.locator('canvas[aria-label^="Who waits for whom"]')
  const box = await map.boundingBox()
  if (!box) throw new Error('the map has no place')
  const cell = { x: (box.width * (SLOW + 0.5)) / 4, y: box.height / 8 }
  await map.hover({ position: cell })
  await expect(map).toHaveAttribute('aria-label', /Waiting rank 0 · Goes back to 2: 399 ms/)
  await map.click({ position: cell })
  await expect.poll(() => app.param('rank')).toBe(`0,${SLOW}`)
  expect(page.url()).toContain('/timeline')
})

test('a wait counts for the root or for the last to arrive', async ({ app, page }) => {
  await open(app, page)
  await page.getByRole('radio', { name: 'Last to arrive' }).click()
  await expect.poll(() => app.param('blame')).toBe('direct')
  await page.getByRole('radio', { name: 'Root cause' }).click()
  await expect.poll(() => app.param('blame')).toBeNull()
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const])
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    await open(app, page, look)
    await app.axe()
  })
test('ranks without communication: the page says why it is empty and how to collect', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/cluster`)
  await expect(page.getByText('This capture holds no communication between ranks')).toBeVisible()
  await expect(page.getByText('How to collect it:')).toBeVisible()
})
