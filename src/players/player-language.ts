import type { One, Player } from '../transactions/player.ts'
import { profiles } from './create-player.ts'

/** It is not remembered: a change of the profile gives the player no new version. */
const languageRead = profiles.one({ columns: ['language'], isKept: false })

/** The language of a player's profile, such as `pt-BR`; null without one. */
export const askLanguage = (player: Player): One<{ readonly language: string | null }> => player.one(languageRead)
