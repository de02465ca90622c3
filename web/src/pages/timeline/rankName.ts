// What a rank is called: one of the run that is compared is told apart from its twin.
import { t } from '../../i18n/language.svelte'
import { isSideB, ownRank } from '../../timeline/sides'

export function rankName(rank: number): string {
  return isSideB(rank) ? t('timeline.rank_b', { rank: ownRank(rank) }) : t('timeline.rank', { rank })
}

/** In a column of numbers of ranks. */
export function rankNumber(rank: number): string {
  return isSideB(rank) ? `B · ${ownRank(rank)}` : String(rank)
}
