// The English dictionary.
import { firstEn } from './first.en'
import { pagesEn } from './pages.en'
import type { zh } from './zh'

export const en: Record<keyof typeof zh, string> = { ...firstEn, ...pagesEn }
