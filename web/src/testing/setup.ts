// What happy-dom lacks and the page uses.
import { language } from '../i18n/language.svelte'

class NoResizes {
  observe(): void {}
  unobserve(): void {}
  disconnect(): void {}
}

globalThis.ResizeObserver ??= NoResizes as unknown as typeof ResizeObserver
// Tests switch languages without waiting.
await Promise.all([language.loadAll('zh'), language.loadAll('en')])
