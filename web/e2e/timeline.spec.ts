import { KERNEL_US, STEP_US } from './captures'
import { expect, test, type App } from './fixtures'

interface Slice {
  readonly rank: number
  readonly slice: number
  readonly name: string
  readonly at_ns: number
  readonly dur_ns: number
}

async function sliceOf(app: App, run: string, name: string, rank = 0): Promise<Slice> {
  const { hits } = await app.api<{ hits: Slice[] }>(`run/${run}/search?q=${encodeURIComponent(name)}&rank=${rank}`)
  const found = hits.find((hit) => hit.name === name)
  if (!found) throw new Error(`no slice ${name}`)
  return found
}

const span = (app: App): number[] => (app.param('t') ?? '').split(/(?<=\d)-/).map(Number)

test('opens on one step, not on the whole run', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await expect(page.getByText(/^Window of 1\.0\d ms/)).toBeVisible()
})

test('keys and wheel zoom, pan, show all and undo; the address follows', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await page.keyboard.press('0')
  await expect.poll(() => span(app)[1]).toBeGreaterThan(3 * STEP_US * 1000 * 0.9)
  const [start = 0, end = 0] = span(app)
  await page.mouse.move(800, 400)
  await page.keyboard.press('w')
  await expect.poll(() => (span(app)[1] ?? 0) - (span(app)[0] ?? 0)).toBeLessThan(end - start)
  const zoomed = span(app)
  await page.keyboard.press('d')
  await expect.poll(() => span(app)[0]).toBeGreaterThan(zoomed[0] ?? 0)
  await page.keyboard.down('Control')
  await page.mouse.wheel(0, -300)
  await page.keyboard.up('Control')
  await expect.poll(() => (span(app)[1] ?? 0) - (span(app)[0] ?? 0)).toBeLessThan((zoomed[1] ?? 0) - (zoomed[0] ?? 0))
  await page.keyboard.press('0')
  await page.keyboard.press('Backspace')
  await expect.poll(() => (span(app)[1] ?? 0) - (span(app)[0] ?? 0)).toBeLessThan(end - start)
})

test('a link to a slice opens on it, with its details and its links', async ({ app, page }) => {
  const run = await app.run('job')
  const kernel = await sliceOf(app, run.id, 'gemm_kernel')
  await app.openTimeline(run.id, `?sel=0:${kernel.slice}`)
  const panel = page.getByRole('tabpanel')
  await expect(panel.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
  await expect(panel).toContainText(`${KERNEL_US} µs`)
  await expect.poll(() => span(app)[0]).toBeLessThan(kernel.at_ns)
  await expect.poll(() => span(app)[1]).toBeGreaterThan(kernel.at_ns + kernel.dur_ns)
  await page.keyboard.press('[')
  await expect(panel.getByRole('heading', { name: 'cudaLaunchKernel' })).toBeVisible()
  await page.goBack()
  await expect(panel.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
  await page.keyboard.press('n')
  await expect.poll(() => app.param('sel')).not.toBe(`0:${kernel.slice}`)
  await expect(panel.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
})

test('a link to a slice scrolls to its row, wherever that lies', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await page.setViewportSize({ width: 1280, height: 800 })
  const names = page.getByRole('group', { name: 'Tracks' })
  // Of two tracks far apart, each with the drawer open, which leaves little room.
  for (const name of ['DistributedDataParallel.forward', 'aten::linear']) {
    const { hits } = await app.api<{ hits: (Slice & { track: number })[] }>(
      `run/${run.id}/search?q=${name}&rank=2&limit=1`,
    )
    const { ranks } = await app.api<{ ranks: { groups: { tracks: { track: number; name: string }[] }[] }[] }>(
      `run/${run.id}/tracks?rank=2`,
    )
    const track = ranks[0]?.groups.flatMap((one) => one.tracks).find((one) => one.track === hits[0]?.track)
    await app.openTimeline(run.id, `?rank=2&sel=2:${hits[0]?.slice}`)
    await expect(page.getByRole('heading', { level: 2 }).first()).toBeVisible()
    const top = (await names.getByText('Idle', { exact: true }).boundingBox())?.y ?? 0
    const bottom = (await page.getByRole('region', { name: 'Details' }).boundingBox())?.y ?? 0
    // The name stands at the upper edge of its track, whose rows reach below it.
    const box = names
      .locator('.box.track')
      .filter({ hasText: track?.name ?? '?' })
      .first()
    await expect
      .poll(async () => {
        const place = await box.boundingBox()
        return place !== null && place.y < bottom && place.y + place.height > top + 18
      })
      .toBe(true)
  }
})

test('a slice that was clicked stays in sight when the drawer opens over it', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await page.setViewportSize({ width: 1280, height: 640 })
  await app.openTimeline(run.id, '?rank=2')
  const thread = page.getByRole('group', { name: 'Tracks' }).locator('.box.track').filter({ hasText: 'thread' }).first()
  const before = (await thread.boundingBox())?.y ?? 0
  // The drawer that opens is 300 pixels high: without scrolling it would cover the thread.
  expect(before).toBeGreaterThan(640 - 300)
  // The first row of the thread is the step, which is as long as the window.
  await page.mouse.click(800, before + 9)
  await expect.poll(() => app.param('sel')).not.toBeNull()
  await expect(page.getByRole('heading', { name: /^ProfilerStep/ })).toBeVisible()
  await expect
    .poll(async () => {
      const drawer = await page.getByRole('region', { name: 'Details' }).boundingBox()
      return ((await thread.boundingBox())?.y ?? 999) + 18 < (drawer?.y ?? 0)
    })
    .toBe(true)
})

test('a click selects what is under the pointer; F fits it; M makes a range of it; Escape clears', async ({
  app,
  page,
}) => {
  const run = await app.run('job')
  const kernel = await sliceOf(app, run.id, 'gemm_kernel')
  await app.openTimeline(run.id, `?sel=0:${kernel.slice}`)
  await expect(page.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
  await expect.poll(() => span(app)[0]).toBeLessThan(kernel.at_ns)
  // The first F centres it, the next fits it, and more leave it so; a page that is still loading may miss one.
  await expect(async () => {
    await page.keyboard.press('f')
    await expect
      .poll(() => (span(app)[1] ?? 0) - (span(app)[0] ?? 0), { timeout: 2000 })
      .toBeCloseTo(kernel.dur_ns * 1.2, -2)
  }).toPass()
  await page.keyboard.press('m')
  await expect.poll(() => app.param('range')).toBe(`${kernel.at_ns}-${kernel.at_ns + kernel.dur_ns}`)
  await page.keyboard.press('Escape')
  await expect.poll(() => app.param('sel')).toBeNull()
  // The kernel fills the lane now: the middle of the canvas on the row of stream 7 is the kernel.
  const row = await page.getByRole('group', { name: 'Tracks' }).getByText('stream 7').boundingBox()
  await page.mouse.click(800, (row?.y ?? 0) + 8)
  await expect.poll(() => app.param('sel')).toBe(`0:${kernel.slice}`)
})

test('a dragged range shows the statistics of the server', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await page.keyboard.press('0')
  await page.mouse.move(430, 200)
  await page.mouse.down()
  await page.mouse.move(1200, 420, { steps: 6 })
  await page.mouse.up()
  await expect(page.getByRole('tab', { name: 'Range' })).toHaveAttribute('aria-selected', 'true')
  await expect.poll(() => app.param('range')).not.toBeNull()
  const grid = page.getByRole('grid', { name: 'Range' })
  await expect(grid).toContainText('aten::mm')
  // Rows by kind and by track have names, and are compared with themselves.
  await page.getByRole('radio', { name: 'by kind' }).click()
  await expect(grid.getByRole('gridcell', { name: 'operator', exact: true }).first()).toBeVisible()
  await page.getByRole('button', { name: /^Keep as A/ }).click()
  await expect(grid.getByRole('columnheader', { name: 'Against A' })).toBeVisible()
  const rows = grid.getByRole('row').filter({ has: page.getByRole('gridcell') })
  for (const row of await rows.all()) await expect(row.getByRole('gridcell').nth(4)).toHaveText('0 ns')
  await page.getByRole('radio', { name: 'by track' }).click()
  await expect(grid.getByRole('gridcell', { name: /stream 7/ }).first()).toBeVisible()
  await page.getByRole('radio', { name: 'Gaps' }).click()
  await expect(page.getByText(/\d+ gaps, .* in all/)).toBeVisible()
  await page.getByRole('radio', { name: 'Overlap' }).click()
  await expect(page.getByRole('tabpanel')).toContainText('Exposed copy')
  await page.getByRole('radio', { name: 'Flame' }).click()
  await expect(
    page
      .getByRole('group', { name: 'Flame' })
      .getByRole('button', { name: /^aten::mm: / })
      .first(),
  ).toBeVisible()
  await page.getByRole('radio', { name: 'SQL' }).click()
  await expect(page.getByRole('tabpanel')).toContainText('FROM slices')
  const saved = page.waitForEvent('download')
  await page.getByRole('link', { name: 'Save as Chrome trace' }).click()
  expect((await saved).suggestedFilename()).toMatch(/^timeline-rank0-.*\.json\.gz$/)
  await page.getByRole('link', { name: 'Open on the SQL page' }).click()
  await expect.poll(() => app.param('q')).toContain('GROUP BY name')
})

test('search counts, dims, steps from hit to hit, and lists them', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  const lanes = page.getByLabel('Timeline lanes')
  const place = await lanes.boundingBox()
  await page.keyboard.press('/')
  await page.keyboard.type('gemm')
  await expect(page.getByText('3 hits')).toBeVisible()
  expect(await lanes.boundingBox()).toEqual(place)
  await page.keyboard.press('Enter')
  await expect(page.getByText(/\d of 3/)).toBeVisible()
  await page.keyboard.press('Enter')
  await expect(page.getByRole('grid', { name: 'Hits' }).getByRole('row')).toHaveCount(4)
  await expect.poll(() => app.param('q')).toBe('gemm')
})

test('tracks are pinned, hidden, folded, moved and filtered, and a link brings it all back', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  const names = page.getByRole('group', { name: 'Tracks' })
  await names.getByText('stream 7').hover()
  await names.getByRole('button', { name: 'Pin: stream 7' }).click()
  await expect.poll(() => app.param('pin')).not.toBeNull()
  await names.getByRole('button', { name: 'Hide: Merged lanes' }).click({ force: true })
  await expect(names).toContainText('1 track hidden')
  await page.reload()
  await app.settled()
  await expect(names).toContainText('1 track hidden')
  await names.getByRole('button', { name: 'Show all' }).click()
  await expect(names).toContainText('Computing')
  await page.getByRole('searchbox', { name: 'Filter tracks' }).fill('stream')
  await expect(names).not.toContainText('thread')
})

test('two ranks on one clock are aligned by a slice of each', async ({ app, page }) => {
  const run = await app.run('job')
  const first = await sliceOf(app, run.id, 'gemm_kernel', 0)
  const second = await sliceOf(app, run.id, 'gemm_kernel', 1)
  await app.openTimeline(run.id, `?rank=0,1&sel=0:${first.slice}`)
  await expect(page.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
  await page.keyboard.press('Shift+L')
  await app.go('sel', `1:${second.slice}`)
  await expect.poll(() => app.param('sel')).toBe(`1:${second.slice}`)
  await expect(page.locator('[aria-live=polite]')).toContainText('rank 1')
  await page.keyboard.press('l')
  await expect.poll(() => app.param('offset')).toBe(`1:${first.at_ns - second.at_ns}`)
  await page.keyboard.press('Shift+R')
  await expect.poll(() => app.param('offset')).toBeNull()
})

test('flags are set, named, listed and kept in the link', async ({ app, page }) => {
  const run = await app.run('job')
  const kernel = await sliceOf(app, run.id, 'gemm_kernel')
  await app.openTimeline(run.id, `?sel=0:${kernel.slice}`)
  await expect(page.getByRole('heading', { name: 'gemm_kernel' })).toBeVisible()
  await page.keyboard.press('b')
  const note = page.getByRole('textbox', { name: 'Note' })
  await expect(note).toHaveValue('gemm_kernel')
  await note.fill('slow 慢')
  await note.press('Tab')
  await expect.poll(() => app.param('flag')).toBe(`${kernel.at_ns}~slow 慢`)
})

test('links by category, and the picture', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await page.getByRole('button', { name: 'Links' }).click()
  await page
    .getByRole('checkbox', { name: /launch/ })
    .first()
    .check()
  await expect(page.getByText(/\d+ of \d+ links shown/)).toBeVisible()
  // A menu is what lies on top: Escape closes it and nothing else.
  await page.keyboard.press('Escape')
  await expect(page.getByText(/\d+ of \d+ links shown/)).toBeHidden()
  await expect.poll(() => app.param('links')).not.toBeNull()
  const saved = page.waitForEvent('download')
  await page.getByRole('button', { name: 'Export the visible timeline as PNG' }).click()
  expect((await saved).suggestedFilename()).toBe('job-rank0-timeline.png')
})

test('the critical path of the visible step is a tour: J and K walk it, the address holds it, Escape ends it', async ({
  app,
  page,
}) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await page.getByRole('button', { name: 'Critical path' }).click()
  const panel = page.getByRole('tabpanel')
  await expect(panel).toContainText(/Critical path of step \d/)
  await expect.poll(() => app.param('stop')).toBe('1')
  const { data } = await app.api<{ data: { step: number; path: { name: string | null }[] }[] }>(
    `run/${run.id}/critical-path?rank=0&step=${app.param('tour')?.split(':')[1]}`,
  )
  await expect(panel).toContainText(`Stop 1 of ${data[0]?.path.length}`)
  await page.keyboard.press('j')
  await expect(panel).toContainText('Stop 2 of')
  await page.keyboard.press('k')
  await expect(panel).toContainText('Stop 1 of')
  await page.reload()
  await app.settled()
  await expect(panel).toContainText('Stop 1 of')
  await page.keyboard.press('Escape')
  await expect.poll(() => app.param('tour')).toBeNull()
  await expect(panel).toBeHidden()
})

test('the tour of gaps begins with the largest', async ({ app, page }) => {
  const run = await app.run('gaps')
  const { data } = await app.api<{ data: { gaps: { duration_us: number }[] } }>(
    `run/${run.id}/launches?rank=0&gaps=500`,
  )
  const largest = Math.max(...data.gaps.map((gap) => gap.duration_us))
  await app.openTimeline(run.id)
  await page.keyboard.press('g')
  await expect(page.getByRole('tabpanel')).toContainText('Stop 1 of')
  await expect.poll(() => (span(app)[1] ?? 0) - (span(app)[0] ?? 0)).toBeCloseTo(largest * 1000 * 2.2, -3)
  const rows = page.getByRole('grid', { name: 'Tour' }).getByRole('row')
  await expect(rows.nth(1)).toContainText('the host')
})

test('a slice is reached and left by keyboard alone', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  await page.getByLabel('Timeline lanes').focus()
  await page.keyboard.press('Enter')
  await expect.poll(() => app.param('sel')).not.toBeNull()
  const device = app.param('sel')
  await page.keyboard.press('PageDown')
  await expect.poll(() => app.param('sel')).not.toBe(device)
  await page.keyboard.press('Escape')
  await expect.poll(() => app.param('sel')).toBeNull()
  await expect(page.getByRole('tabpanel')).toBeHidden()
})

test('several ranks are strips that open lanes, then tracks', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.openTimeline(run.id, '?rank=0-3')
  const names = page.getByRole('group', { name: 'Tracks' })
  const strips = names.getByRole('button', { name: /^rank \d/ })
  await expect(strips).toHaveCount(4)
  // Rank 2 computes longer than the others: it comes first, and open, as soon as there is anything to see.
  await expect(strips.first()).toHaveAccessibleName(/^rank 2/)
  await expect(strips.first()).toHaveAttribute('aria-expanded', 'true')
  const box = await strips.nth(1).locator('xpath=..').boundingBox()
  expect(box?.height).toBe(18)
  await strips.nth(1).click()
  await expect(names.getByText('Computing', { exact: true })).toHaveCount(2)
  await strips.nth(1).click()
  await expect(names.getByRole('button', { name: /GPU/ })).toHaveCount(2)
  await page.getByRole('combobox', { name: 'Order of the ranks' }).selectOption('number')
  await expect(strips.first()).toHaveAccessibleName(/^rank 0/)
})

test('one button shows all ranks as strips, the furthest behind first, and takes them away again', async ({
  app,
  page,
}) => {
  const run = await app.run('four_ranks')
  await app.openTimeline(run.id)
  const all = page.getByRole('button', { name: 'All 4 ranks' })
  await all.click()
  await expect.poll(() => app.param('rank')).toBe('0-3')
  await app.settled()
  // Rank 2 was made slow: its strip is open, above those of the others.
  const names = page.getByRole('group', { name: 'Tracks' })
  await expect(names.getByText('Steps of rank 2', { exact: true })).toBeVisible()
  for (const rank of [0, 1, 3]) await expect(names.getByText(`rank ${rank}`, { exact: true })).toBeVisible()
  // The buttons of the narrowest window stand in one line: a second would take its room from the lanes.
  const toolbar = await page.getByRole('toolbar', { name: 'Timeline' }).boundingBox()
  expect(toolbar?.height).toBeLessThan(48)
  await all.click()
  await expect.poll(() => app.param('rank')).toBe(null)
})

test('nobody chose a rank: the one that the first finding accuses is shown above a peer, track by track', async ({
  app,
  page,
}) => {
  const run = await app.run('four_ranks')
  const { data } = await app.api<{ data: { findings: { ranks: number[] }[] } }>(`run/${run.id}/diagnose`)
  // Rank 2 was made slow when this was recorded.
  expect(data.findings[0]?.ranks).toEqual([2])
  await page.setViewportSize({ width: 1440, height: 900 })
  await app.openTimeline(run.id)
  const [accused, peer] = (app.param('pair') ?? '').split(',').map(Number)
  expect(accused).toBe(2)
  expect([0, 1, 3]).toContain(peer)
  const names = page.getByRole('group', { name: 'Tracks' })
  const drawer = await page.getByRole('region', { name: 'Details' }).boundingBox()
  const strips = names.getByRole('button', { name: /^rank \d/ })
  await expect(strips).toHaveCount(2)
  await expect(strips.first()).toHaveAccessibleName(/^rank 2/)
  await expect(strips.first()).toContainText('wait for rank 2')
  // The compute stream of both, right below each other, above the drawer.
  const streams = names.getByText('stream 7', { exact: true })
  await expect(streams).toHaveCount(2)
  const [one, other] = await Promise.all([streams.nth(0).boundingBox(), streams.nth(1).boundingBox()])
  expect((other?.y ?? 0) - (one?.y ?? 0)).toBeLessThan(100)
  expect((other?.y ?? 900) + 20).toBeLessThan(drawer?.y ?? 0)
  // Other pages are not narrowed to the two, and the way back opens on them again.
  await page.getByRole('link', { name: 'Operators' }).first().click()
  await expect(page).toHaveURL(/operators/)
  expect(app.param('pair')).toBeNull()
  expect(app.param('rank')).toBeNull()
  await page.getByRole('link', { name: 'Timeline' }).first().click()
  await expect.poll(() => app.param('pair')).toBe(`${accused},${peer}`)
  // A link keeps what it showed.
  await app.settled()
  await page.reload()
  await app.settled()
  await expect(strips.first()).toHaveAccessibleName(/^rank 2/)
  await app.openTimeline(run.id, '?rank=1')
  await expect(names.getByText('Steps of rank 1', { exact: true })).toBeVisible()
  await expect(strips).toHaveCount(0)
})

test('findings that come late are offered, and do not change what somebody looks at', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  // As of a run that was never diagnosed: nothing is known of a verdict, and the answer takes its time.
  let answer = (): void => undefined
  const held = new Promise<void>((resolve) => (answer = resolve))
  await page.route(new RegExp(`/api/run/${run.id}(\\?|$)`), async (route) => {
    const response = await route.fetch()
    const details = (await response.json()) as { summary: object }
    await route.fulfill({ response, json: { ...details, summary: { ...details.summary, verdict: null } } })
  })
  await page.route('**/diagnose*', async (route) => {
    await held
    await route.continue().catch(() => undefined)
  })
  await app.openTimeline(run.id)
  const names = page.getByRole('group', { name: 'Tracks' })
  await expect(names.getByText('Steps of rank 0', { exact: true })).toBeVisible()
  answer()
  const offer = page.getByRole('button', { name: 'Show rank 2, which a finding names' })
  await expect(offer).toBeVisible()
  await expect(names.getByText('Steps of rank 0', { exact: true })).toBeVisible()
  await offer.click()
  await expect(names.getByText('Steps of rank 2', { exact: true })).toBeVisible()
  await expect.poll(() => app.param('pair')).toMatch(/^2,/)
  await page.goBack()
  await expect.poll(() => app.param('pair')).toBeNull()
})

test('streams that work in other steps only are gathered, and open with one click', async ({ app, page }) => {
  const run = await app.run('rotating')
  const names = page.getByRole('group', { name: 'Tracks' })
  // Streams 21 to 23 are as busy as each other over the whole run, each in one step.
  for (const step of [2, 3]) {
    await app.openTimeline(run.id, `?step=${step}`)
    for (const shown of ['stream 7', `stream ${20 + step}`])
      await expect(names.getByText(shown, { exact: true })).toBeVisible()
    await expect(names.getByText('stream 21', { exact: true })).toHaveCount(0)
    await names.getByRole('button', { name: '2 quiet tracks' }).click()
    await expect(names.getByText('stream 21', { exact: true })).toBeVisible()
  }
})

test('the result of a query is a track whose slices lead to their originals', async ({ app, page }) => {
  const run = await app.run('job')
  const kernel = await sliceOf(app, run.id, 'gemm_kernel')
  const query = `SELECT rank, slice, name, start_ns, dur_ns FROM slices WHERE rank = 0 AND slice = ${kernel.slice}`
  const t = `${kernel.at_ns - 10_000}-${kernel.at_ns + kernel.dur_ns + 10_000}`
  await app.openTimeline(run.id, `?t=${t}&track=${encodeURIComponent(`sql:${query}`)}`)
  const names = page.getByRole('group', { name: 'Tracks' })
  const title = names.getByText('SQL: 1 slice')
  await expect(title).toBeVisible()
  const lanes = await page.getByLabel('Timeline lanes').boundingBox()
  await page.mouse.click((lanes?.x ?? 0) + (lanes?.width ?? 0) / 2, ((await title.boundingBox())?.y ?? 0) + 8)
  await expect.poll(() => app.param('sel')).toBe(`0:${kernel.slice}`)
  await names.getByRole('button', { name: 'Remove' }).click()
  await expect.poll(() => app.param('track')).toBeNull()
})

test('two runs with many streams: the same tracks of both are in sight at once', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  const twin = await app.run('job')
  await page.setViewportSize({ width: 1440, height: 900 })
  for (const [a, b] of [
    [run, twin],
    [twin, run],
  ] as const) {
    await app.openTimeline(a.id, `?vs=${b.id}&rank=0`)
    const names = page.getByRole('group', { name: 'Tracks' })
    const drawer = await page.getByRole('region', { name: 'Details' }).boundingBox()
    const lanes = names.getByText('Computing', { exact: true })
    const streams = names.getByText('stream 7', { exact: true })
    await expect(lanes).toHaveCount(2)
    await expect(streams).toHaveCount(2)
    for (const one of [lanes.nth(1), streams.nth(0), streams.nth(1)]) {
      const place = await one.boundingBox()
      expect((place?.y ?? 900) + (place?.height ?? 0)).toBeLessThan(drawer?.y ?? 0)
    }
    // Each says whose it is.
    const boxes = names.locator('.box.track')
    await expect(boxes.filter({ hasText: 'stream 7' }).nth(0)).toContainText('A')
    await expect(boxes.filter({ hasText: 'stream 7' }).nth(1)).toContainText('B')
  }
})

test('another run stands below this one, its steps under the same steps', async ({ app, page }) => {
  const run = await app.run('job')
  const other = await app.run('single')
  await app.openTimeline(run.id, `?vs=${other.id}`)
  const names = page.getByRole('group', { name: 'Tracks' })
  await expect(names.getByText('B: steps of rank 0')).toBeVisible()
  await expect(names.getByRole('button', { name: /^B · rank 0/ })).toHaveAttribute('aria-expanded', 'true')
  await expect(names.getByText('stream 7', { exact: true })).toHaveCount(2)
  // A search is of both: each has one such kernel in each of its three steps, walked in the order of time.
  await page.keyboard.press('0')
  await page.getByRole('searchbox', { name: 'Search slices' }).fill('gemm_kernel')
  await expect(page.getByRole('toolbar')).toContainText('6')
  const sides: string[] = []
  for (let hit = 1; hit <= 6; hit += 1) {
    await page.keyboard.press('Enter')
    await expect(page.getByRole('toolbar')).toContainText(`${hit} of 6`)
    sides.push((app.param('sel') ?? '').split(':')[0] === '0' ? 'A' : 'B')
  }
  expect(sides.filter((side) => side === 'A')).toHaveLength(3)
  await page.getByRole('button', { name: 'Hits' }).click()
  await expect(page.getByRole('gridcell', { name: 'B · 0' })).toHaveCount(3)
})

test('a proof of memory opens with its memory track in sight', async ({ app, page }) => {
  const { runs } = await app.api<{ runs: { id: string; state: string }[] }>('runs')
  for (const { id } of runs.filter((one) => one.state === 'ready')) {
    const { tables } = await app.api<{ tables: Record<string, number> }>(`run/${id}`)
    if (!tables['memory'] || !tables['slices']) continue
    await app.openTimeline(id, '?show=memory')
    const group = page
      .getByRole('group', { name: 'Tracks' })
      .getByRole('button', { name: /^Memory/ })
      .first()
    const drawer = await page.getByRole('region', { name: 'Details' }).boundingBox()
    const place = await group.boundingBox()
    expect((place?.y ?? 0) + 40).toBeLessThan(drawer?.y ?? 0)
    return
  }
})

for (const theme of ['light', 'dark'] as const)
  test(`nothing serious for axe in the ${theme} theme, with a slice, a range and a tour`, async ({ app, page }) => {
    const run = await app.run('job')
    const kernel = await sliceOf(app, run.id, 'gemm_kernel')
    for (const params of [`sel=0:${kernel.slice}`, `range=0-900000`, 'tour=gaps', 'rank=0,1']) {
      await app.open(`/run/${run.id}/timeline?${params}`, { theme })
      await app.settled()
      await page.waitForLoadState('networkidle')
      await app.axe()
    }
  })

test('one track of all ranks is stacked by a button, held by the address, and left again', async ({ app, page }) => {
  const run = await app.run('job')
  await app.openTimeline(run.id)
  const names = page.getByRole('group', { name: 'Tracks' })
  await page.getByRole('button', { name: 'Across ranks' }).click()
  await page.getByRole('button', { name: /^stream 7/ }).click()
  for (const rank of [0, 1]) await expect(names.getByText(new RegExp(`^rank ${rank} · stream 7`))).toBeVisible()
  expect(app.param('stack')).toMatch(/^0\.\d+$/)
  await page.getByRole('button', { name: 'Across ranks' }).click()
  await page.getByRole('button', { name: 'Back to all tracks' }).click()
  await expect(names.getByText(/^rank 1 · stream 7/)).toHaveCount(0)
  await expect.poll(() => app.param('stack')).toBeNull()
})

test('a stack of a run that opened with two ranks is of all of them', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.api(`run/${run.id}/diagnose`)
  await app.openTimeline(run.id)
  expect(app.param('pair')).not.toBeNull()
  await page.getByRole('button', { name: 'Across ranks' }).click()
  await page.getByRole('button', { name: /^stream 7/ }).click()
  const names = page.getByRole('group', { name: 'Tracks' })
  for (const rank of [0, 1, 2, 3])
    await expect(names.getByText(`rank ${rank} · stream 7`, { exact: true })).toBeVisible()
})

test('answers that come behind the end of the page change nothing', async ({ app, page }) => {
  const run = await app.run('four_ranks')
  await app.openTimeline(run.id, '?rank=0-3')
  let answer = (): void => undefined
  const held = new Promise<void>((resolve) => (answer = resolve))
  const asked: string[] = []
  for (const path of ['tracks', 'search'])
    await page.route(`**/${path}?*`, async (route) => {
      asked.push(path)
      await held
      // What the page gave up cannot be continued.
      await route.continue().catch(() => undefined)
    })
  const strips = page.getByRole('group', { name: 'Tracks' }).getByRole('button', { name: /^rank \d/ })
  await strips.nth(1).click()
  await page.getByRole('searchbox', { name: 'Search slices' }).fill('ncclDevKernel')
  await page.keyboard.press('Enter')
  await expect.poll(() => new Set(asked).size).toBe(2)
  await page.getByRole('link', { name: 'Operators' }).first().click()
  await expect(page.getByRole('group', { name: 'Tracks' })).toHaveCount(0)
  const left = page.url()
  answer()
  await page.waitForLoadState('networkidle')
  expect(page.url()).toBe(left)
})
