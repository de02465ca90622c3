// The chosen language and the typed lookup of its sentences.
import type { zh } from './zh'

export type Language = 'zh' | 'en'
export type Key = keyof typeof zh

/** Names between braces in a sentence, so that a forgotten value does not compile. */
type Holes<S extends string> = S extends `${string}{${infer Name}}${infer Rest}` ? Name | Holes<Rest> : never
/** Keys of sentences that need no values: the ones that tables of the code may name. */
export type PlainKey = { [K in Key]: [Holes<(typeof zh)[K]>] extends [never] ? K : never }[Key]
type Values<K extends Key> = Record<Holes<(typeof zh)[K]>, string | number>
type Arguments<K extends Key> = [Holes<(typeof zh)[K]>] extends [never] ? [] : [values: Values<K>]

const STORED = 'stepscope.language'
type Words = Readonly<Partial<Record<Key, string>>>
type Part = 'first' | 'pages'
/** Only the language in use is loaded. */
const loaders: Readonly<Record<Language, Readonly<Record<Part, () => Promise<Words>>>>> = {
  zh: {
    first: async () => (await import('./first.zh')).firstZh,
    pages: async () => (await import('./pages.zh')).pagesZh,
  },
  en: {
    first: async () => (await import('./first.en')).firstEn,
    pages: async () => (await import('./pages.en')).pagesEn,
  },
}

/** Whole numbers that name something instead of counting it: they stand as they are (the server's IDENTIFIERS, and the page's own). */
const IDENTIFIERS: ReadonlySet<string> = new Set(
  'code device first id last line number one other pid place port rank second seq slice stage step value'.split(' '),
)

class Choice {
  current = $state<Language>(initial())
  #words = $state.raw<Readonly<Record<Language, Words>>>({ zh: {}, en: {} })
  readonly #loaded = new Set<string>()

  /** The words of the current language, as far as they are there. */
  get words(): Words {
    return this.#words[this.current]
  }

  /** Fetch the words of the frame: the page starts when those of the current language are there. */
  async load(language: Language = this.current): Promise<void> {
    await this.#loadPart(language, 'first')
  }

  /** Fetch all words: a page is shown when they are there. */
  async loadAll(language: Language = this.current): Promise<void> {
    await Promise.all([this.#loadPart(language, 'first'), this.#loadPart(language, 'pages')])
  }

  /** Switch as soon as the words are there: at once, if they are. */
  set(language: Language): void {
    if (this.#loaded.has(`${language} first`) && this.#loaded.has(`${language} pages`)) this.#show(language)
    else void this.loadAll(language).then(() => this.#show(language))
  }

  async #loadPart(language: Language, part: Part): Promise<void> {
    const name = `${language} ${part}`
    if (this.#loaded.has(name)) return
    const words = await loaders[language][part]()
    this.#words = { ...this.#words, [language]: { ...this.#words[language], ...words } }
    this.#loaded.add(name)
  }

  #show(language: Language): void {
    this.current = language
    localStorage.setItem(STORED, language)
    document.documentElement.lang = language
  }
}

export const language = new Choice()
document.documentElement.lang = language.current

/** The sentence for a key in the current language. */
export function t<K extends Key>(key: K, ...[values]: Arguments<K>): string {
  return fill(language.words[key] ?? key, values as Record<string, string | number> | undefined)
}

/** The sentence for a key that is only known at run time (an error code), or null if there is none. */
export function lookUp(key: string, values: Readonly<Record<string, unknown>> = {}): string | null {
  const sentence = (language.words as Readonly<Record<string, string | undefined>>)[key]
  return sentence === undefined ? null : fill(sentence, values)
}

/** The language tag for Intl. */
export function locale(): string {
  return language.current === 'zh' ? 'zh-CN' : 'en-US'
}

/** A sentence with its values put in. */
export function fill(sentence: string, values: Readonly<Record<string, unknown>> | undefined): string {
  if (!values) return sentence
  return sentence.replace(
    /\{(\w+)(?:\|([^|}]*)\|([^|}]*))?\}/g,
    // `{count|step|steps}` is the word that goes with a number.
    (hole, name: string, one?: string, many?: string) =>
      one === undefined ? filled(name, values[name] ?? hole) : String(values[name]) === '1' ? one : String(many),
  )
}

function filled(name: string, value: unknown): string {
  const counts = typeof value === 'number' && Number.isInteger(value) && !IDENTIFIERS.has(name)
  return counts ? value.toLocaleString(locale()) : String(value)
}

function initial(): Language {
  const stored = localStorage.getItem(STORED)
  if (stored === 'zh' || stored === 'en') return stored
  return navigator.language.toLowerCase().startsWith('zh') ? 'zh' : 'en'
}
