// Some ranks in words: `rank 5`, `ranks 0-3, 7`.
import { t } from '../i18n/language.svelte'
import { formatScope } from '../router/scope'

export function rankWords(ranks: readonly number[], known: readonly number[] = []): string {
  const numbers = formatScope(ranks, known).replaceAll(',', t('list.separator'))
  return t(ranks.length > 1 ? 'scope.several' : 'scope.some', { ranks: numbers })
}
