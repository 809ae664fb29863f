const KINDS: Readonly<Record<string, string>> = {
  max: 'per call',
  perDay: 'per day',
  perWeek: 'per week',
  perSeason: 'per season',
}

/** A limit of xp in words: `source.perDay` is `per day, of the source`. */
export function limitText(limitedBy: string): string {
  const [of, kind = ''] = limitedBy.split('.')
  return `${KINDS[kind] ?? kind}, of the ${of}`
}
