import type { Right } from '../../callers/roles.ts'

/** The pages of the console that have views. The database has the list, too. */
export const CONSOLE_PAGES = ['players', 'live', 'audit_log'] as const
export type ConsolePage = (typeof CONSOLE_PAGES)[number]

/** To read the views of a page takes the right to read the page itself: a filter may name a player. */
export const READS: Readonly<Record<ConsolePage, Right>> = { players: 'players', live: 'players', audit_log: 'manage' }

/** To share one with everyone takes more than to look at the page. */
export const SHARES: Readonly<Record<ConsolePage, Right>> = { players: 'act', live: 'act', audit_log: 'manage' }
