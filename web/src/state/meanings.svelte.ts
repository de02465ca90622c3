// What the fields of the analyses mean, in both languages, from the server's own list: one source for all tooltips.
import { getJson } from '../api/client'
import type { QuestionInfo } from '../api/schema'
import { language } from '../i18n/language.svelte'

class Meanings {
  #known = $state.raw<ReadonlyMap<string, { zh: string; en: string; formula: string }>>(new Map())
  #asked = false

  /** A sentence about `question.field` with its formula; undefined until it is known. */
  of(question: string, field: string): string | undefined {
    if (!this.#asked) void this.#load()
    const found = this.#known.get(`${question}.${field}`) ?? this.#known.get(field)
    if (!found) return undefined
    return found.formula ? `${found[language.current]}\n${found.formula}` : found[language.current]
  }

  async #load(): Promise<void> {
    this.#asked = true
    try {
      const questions = await getJson<readonly QuestionInfo[]>('questions')
      this.#known = new Map(
        questions.flatMap((question) =>
          question.fields.map((field) => [`${question.name}.${short(question.name, field.field)}`, field] as const),
        ),
      )
    } catch {
      // Without them the columns have no tooltip; asked again with the next page.
      this.#asked = false
    }
  }
}

function short(question: string, field: string): string {
  return field.startsWith(`${question}.`) ? field.slice(question.length + 1) : field
}

export const meanings = new Meanings()
