// Sentences that the commands say too: they stand in the server's catalogue alone, and come once per language.
import { getJson } from '../api/client'
import { fill, language, type Language } from '../i18n/language.svelte'

class Texts {
  #known = $state.raw<Partial<Record<Language, Readonly<Record<string, string>>>>>({})
  readonly #asked = new Set<Language>()

  /** The sentence of a key such as `leak_reason.kept`, with its values; null until it is known. */
  of(key: string, values?: Readonly<Record<string, unknown>>): string | null {
    const { current } = language
    void this.load(current)
    const sentence = this.#known[current]?.[key]
    return sentence === undefined ? null : fill(sentence, values)
  }

  /** All names of a section, in the order of the catalogue; empty until they are known. */
  namesOf(section: string): readonly string[] {
    void this.load(language.current)
    const start = `${section}.`
    return Object.keys(this.#known[language.current] ?? {}).flatMap((key) =>
      key.startsWith(start) ? [key.slice(start.length)] : [],
    )
  }

  /** Fetch the sentences of a language, once. */
  async load(wanted: Language = language.current): Promise<void> {
    if (this.#asked.has(wanted)) return
    this.#asked.add(wanted)
    try {
      const sentences = await getJson<Readonly<Record<string, string>>>('texts', { lang: wanted })
      this.#known = { ...this.#known, [wanted]: sentences }
    } catch {
      // The key stands in; asked again when the next sentence is wanted.
      this.#asked.delete(wanted)
    }
  }
}

export const texts = new Texts()

/** The server's sentence for a section and a name that an answer gives; the bare name until the sentences are there. */
export function said(section: string, name: string, values?: Readonly<Record<string, unknown>>): string {
  return texts.of(`${section}.${name}`, values) ?? name
}
