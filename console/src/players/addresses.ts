type PlayerPlace = { readonly environment: string; readonly playerId: string }

export const playerHref = ({ environment, playerId }: PlayerPlace): string => `/env/${environment}/players/${playerId}`

/** The address of an entry of the audit log among those of its player: operators may read it there. */
export const auditHref = (player: PlayerPlace, entryId: string): string =>
  `${playerHref(player)}/audit?entry=${encodeURIComponent(entryId)}`
