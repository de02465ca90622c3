// The Communication page: on four ranks over gloo of which rank 2 comes late, on an Ascend capture with links, and without communication.
import type { Page } from '@playwright/test'
import { expect, test, type App, type Run } from './fixtures'
import { REAL } from './realCaptures'
import { compare } from './shownNumbers'

const NAME = 'four_ranks'
const SLOW = 2
const ASCEND = 'text_level1'

interface Answer {
  readonly data: {
    readonly waits: readonly { rank: number; blames: number; root: number; wait_us: number }[]
    readonly operations: readonly { name: string; count: number }[]
    readonly durations: readonly { count: number }[]
  }
}

async function open(app: App, page: Page, name = NAME, params = '', look = {}): Promise<Run> {
  const run = await app.run(name)
  await app.open(`/run/${run.id}/communication${params}`, look)
  await expect(page.getByRole('grid').first()).toBeVisible()
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
  await page.waitForLoadState('networkidle')
  return run
}

test('its numbers are those of the analyses, single calls too', async ({ app, page }) => {
  const run = await open(app, page)
  await page.getByRole('heading', { name: /Calls over ranks/ }).scrollIntoViewIfNeeded()
  await page.getByText('Show as table', { exact: true }).click()
  const seen = await compare(app, run.id, 0, { path: 'communication' })
  expect(seen.wrong).toEqual([])
  expect(seen.compared).toBeGreaterThan(12 * 5 + 4 * 6)
  const { data } = await app.api<Answer>(`run/${run.id}/communication`)
  const waits = page.getByRole('grid', { name: 'Who waits for whom' })
  await expect(waits.getByRole('row')).toHaveCount(data.waits.length + 1)
  await expect(waits.locator('[data-field=root]').first()).toHaveAttribute('data-value', String(SLOW))
  await expect(page.getByText('Transfers between individual ranks were not recorded').last()).toBeVisible()
})

test('a click on who waits for whom opens both ranks on the timeline', async ({ app, page }) => {
  await open(app, page)
  const map = page.locator('canvas[aria-label^="Who waits for whom"]')
  const box = await map.boundingBox()
  if (!box) throw new Error('the map has no place')
  const cell = { x: (box.width * (SLOW + 0.5)) / 4, y: box.height / 8 }
  await map.hover({ position: cell })
  await expect(map).toHaveAttribute('aria-label', /Waiting rank 0 · Root cause 2: 399 ms/)
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

test('calls in time: chosen by key, aligned, zoomed, and opened on the timeline', async ({ app, page }) => {
  await open(app, page)
  const picture = page.locator('canvas[aria-label^="Calls over ranks and time"]')
  await page.getByRole('heading', { name: /Calls over ranks/ }).scrollIntoViewIfNeeded()
  await picture.focus()
  await picture.press('ArrowRight')
  await picture.press('ArrowRight')
  await expect(picture).toHaveAttribute('aria-label', /rank \d · .* · Waiting/)
  await page.getByRole('button', { name: 'Align ranks at this call' }).click()
  await expect.poll(() => app.param('align')).not.toBeNull()
  await page.getByRole('button', { name: 'Back to recorded times' }).click()
  await expect.poll(() => app.param('align')).toBeNull()
  const box = await picture.boundingBox()
  if (!box) throw new Error('the picture has no place')
  await page.mouse.move(box.x + 200, box.y + 40)
  await page.mouse.down()
  await page.mouse.move(box.x + 500, box.y + 60, { steps: 4 })
  await page.mouse.up()
  await page.getByRole('button', { name: 'Whole step' }).click()
  await expect(page.getByRole('button', { name: 'Whole step' })).toHaveCount(0)
  await page.getByRole('link', { name: 'Open on the timeline' }).click()
  await expect.poll(() => page.url()).toContain('/timeline')
  expect(app.param('sel')).toMatch(/^\d:\d+$/)
})

test('a click on an operation shows the page for it alone, the control shows all again', async ({ app, page }) => {
  const run = await open(app, page)
  const { data } = await app.api<Answer>(`run/${run.id}/communication`)
  const operations = page.getByRole('grid', { name: 'Communication operations' })
  await operations.getByRole('gridcell').first().click()
  await expect.poll(() => app.param('operation')).toBe(data.operations[0]?.name)
  await expect(operations.getByRole('row')).toHaveCount(2)
  await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
  const seen = await compare(app, run.id, 0, { path: 'communication' })
  expect(seen.wrong).toEqual([])
  await page.getByRole('combobox', { name: 'Operation', exact: true }).selectOption('')
  await expect.poll(() => app.param('operation')).toBeNull()
})

for (const look of [{ language: 'en', theme: 'dark' } as const, { language: 'zh', theme: 'light' } as const])
  test(`axe finds nothing serious (${look.language}, ${look.theme})`, async ({ app, page }) => {
    await open(app, page, NAME, '', look)
    await app.axe()
  })

test('a job without communication: the page says why it is empty and how to collect', async ({ app, page }) => {
  const run = await app.run('job')
  await app.open(`/run/${run.id}/communication`)
  await expect(page.getByText('This capture holds no communication between ranks')).toBeVisible()
  await expect(page.getByText('How to collect it:')).toBeVisible()
})

test('links of an Ascend capture by four measures, and its packets', async ({ app, page }) => {
  test.skip(!REAL.some((one) => one.name === ASCEND), 'needs the sample captures')
  const run = await open(app, page, ASCEND)
  for (const [name, value] of [
    ['Size', 'bytes'],
    ['Time', 'time_us'],
    ['Transport', 'transport'],
  ] as const) {
    await page.getByRole('radio', { name, exact: true }).click()
    await expect.poll(() => app.param('measure')).toBe(value)
    await expect(page.locator(`canvas[aria-label^="Links between ranks: ${name}"]`)).toBeVisible()
  }
  const map = page.locator('canvas[aria-label^="Links between ranks: Transport"]')
  const box = await map.boundingBox()
  if (!box) throw new Error('the map has no place')
  await map.hover({ position: { x: (box.width * 1.5) / 8, y: box.height / 16 } })
  await expect(map).toHaveAttribute('aria-label', /Rank 0 · Peer 1: HCCS/)
  await expect(page.getByRole('img', { name: 'Packet sizes' })).toBeVisible()
  const seen = await compare(app, run.id, 0, { path: 'communication' })
  expect(seen.wrong).toEqual([])
})

test('no table of a page with many numbers is read sideways, in either language', async ({ app, page }) => {
  const runs = [NAME, 'simulated-last-stage-16', ...REAL.map((one) => one.name).filter((name) => name === ASCEND)]
  for (const language of ['en', 'zh'] as const) {
    for (const name of runs)
      for (const place of ['communication', 'cluster', 'operators']) {
        const run = await app.run(name)
        await app.open(`/run/${run.id}/${place}`, { language })
        await page.evaluate((chosen) => localStorage.setItem('stepscope.language', chosen), language)
        await page.reload()
        await expect(page.locator('html')).toHaveAttribute('lang', language)
        await expect(page.getByRole('grid').first()).toBeVisible()
        await expect(page.locator('[aria-busy=true]')).toHaveCount(0)
        const wide = (): Promise<string[]> =>
          page
            .getByRole('grid')
            .evaluateAll((grids) =>
              grids
                .filter((grid) => grid.scrollWidth > grid.clientWidth + 1)
                .map((grid) => grid.getAttribute('aria-label') ?? ''),
            )
        await expect.poll(wide, { message: `${name} ${place} ${language}` }).toEqual([])
      }
  }
})
