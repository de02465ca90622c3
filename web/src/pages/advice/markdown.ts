// Findings as Markdown, to be pasted into an issue or a chat.
import type { Diagnosis } from '../../api/schema'
import type { Language } from '../../i18n/language.svelte'

export function asMarkdown({ verdict, findings }: Diagnosis, language: Language, run: string): string {
  const lines = [`## ${run}`, '', `**${verdict.sentence[language]}**`]
  for (const finding of findings) {
    lines.push('', `### ${finding.title[language]}`, '')
    lines.push(...finding.evidence.map((one) => `- ${one.label[language]}: ${one.value} ${one.unit}`.trimEnd()))
    lines.push('', finding.advice[language])
  }
  return `${lines.join('\n')}\n`
}
