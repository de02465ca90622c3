// The first view of the Timeline at 1440 × 900: steps, lanes and device work of every capture that has any.
import type { Page } from '@playwright/test'
import { expect, test } from './fixtures'

interface Tracks {
  readonly ranks: readonly {
    readonly rank: number
    readonly has_lanes: boolean
    readonly steps: readonly unknown[]
    readonly groups: readonly {
      readonly kind: string
      readonly tracks: readonly { readonly name: string; readonly slices: number }[]
    }[]
  }[]
}

/** How many colours the lanes show between two heights of the page. */
function coloursBetween(page: Page, top: number, bottom: number): Promise<number> {
  return page.evaluate(
    ([from, to]) => {
      const canvas = document.querySelector<HTMLCanvasElement>('.lanes canvas')
      if (!canvas) return 0
      const box = canvas.getBoundingClientRect()
      const ratio = canvas.height / box.height
      const y = Math.round((from - box.top) * ratio)
      const height = Math.max(1, Math.round((Math.min(to, box.bottom) - from) * ratio))
      // A copy, because reading the page's own canvas would make it slow.
      const copy = new OffscreenCanvas(canvas.width, height)
      const context = copy.getContext('2d', { willReadFrequently: true })
      context?.drawImage(canvas, 0, -y)
      const data = context?.getImageData(0, 0, canvas.width, height).data ?? new Uint8ClampedArray()
      return new Set(new Uint32Array(data.buffer)).size
    },
    [top, bottom] as const,
  )
}

test('steps, lanes and device work are in the first view of every capture', async ({ app, page }) => {
  test.setTimeout(600_000)
  await page.setViewportSize({ width: 1440, height: 900 })
  const { runs } = await app.api<{ runs: { id: string; name: string; state: string }[] }>('runs')
  const missing: string[] = []
  let withDevice = 0
  for (const run of runs.filter((one) => one.state === 'ready')) {
    await app.openTimeline(run.id)
    // Of several ranks it opens with the one that the first finding accuses.
    const first = app.param('pair')?.split(',')[0]
    const [rank] = (await app.api<Tracks>(`run/${run.id}/tracks${first === undefined ? '' : `?rank=${first}`}`)).ranks
    if (!rank) continue
    const names = page.getByRole('group', { name: 'Tracks' })
    const drawer = await page.getByRole('region', { name: 'Details' }).boundingBox()
    const inSight = async (text: string): Promise<number | null> => {
      const place = await names.getByText(text, { exact: true }).first().boundingBox()
      return place && place.y + place.height <= (drawer?.y ?? 900) ? place.y : null
    }
    const say = (what: string): number => missing.push(`${run.name}: ${what}`)
    if (rank.steps.length > 0) {
      const top = await inSight(`Steps of rank ${rank.rank}`)
      // The band of steps is drawn beside its name.
      if (top === null || (await coloursBetween(page, top, top + 14)) < 2) say('steps')
    }
    if (rank.has_lanes) {
      const top = await inSight('Computing')
      if (top === null || (await coloursBetween(page, top, top + 70)) < 2) say('lanes')
    }
    const streams = rank.groups
      .filter((group) => group.kind === 'device')
      .flatMap((group) => group.tracks)
      .filter((track) => track.slices > 0)
    if (streams.length === 0) continue
    withDevice += 1
    const heights = await Promise.all(
      [...new Set(streams.map((track) => track.name))].map(async (name) =>
        (await names.getByText(name, { exact: true }).count()) > 0 ? inSight(name) : null,
      ),
    )
    const colours = await Promise.all(
      heights.flatMap((top) => (top === null ? [] : [coloursBetween(page, top, top + 14)])),
    )
    if (!colours.some((number) => number >= 2)) say('device work')
  }
  expect(missing).toEqual([])
  expect(withDevice).toBeGreaterThanOrEqual(5)
})
