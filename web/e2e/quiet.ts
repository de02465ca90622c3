// Going from page to page as a reader does, without loading everything anew each time.
import type { Page } from '@playwright/test'

/** Do something, and wait until the page of this heading stands there and nothing that it asked is under way. */
export async function quiet(page: Page, heading: string, act: () => Promise<void>): Promise<void> {
  let underWay = 0
  const more = (): number => (underWay += 1)
  const less = (): number => (underWay -= 1)
  page.on('request', more)
  page.on('requestfinished', less)
  page.on('requestfailed', less)
  await act()
  const busy = (): Promise<boolean> =>
    page.evaluate(
      (title) =>
        document.querySelector('[aria-busy=true]') !== null || document.querySelector('h1')?.textContent !== title,
      heading,
    )
  // The Timeline's summary waits a moment for the view to settle before it asks.
  const settled = heading === 'Timeline' ? 8 : 3
  for (let still = 0; still < settled; still = underWay > 0 || (await busy()) ? 0 : still + 1)
    await page.waitForTimeout(40)
  page.off('request', more)
  page.off('requestfinished', less)
  page.off('requestfailed', less)
}
