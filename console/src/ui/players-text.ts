/** `1 player`, `217 players`; `10,000 or more players` where the service has not counted on. */
export const playersText = (players: number, isExact = true): string =>
  `${players.toLocaleString('en-US')}${isExact ? '' : ' or more'} ${players === 1 && isExact ? 'player' : 'players'}`
