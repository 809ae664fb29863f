/** `1 level`, `1,200 levels`. */
export const countText = (count: number, one: string): string =>
  `${count.toLocaleString('en-US')} ${one}${count === 1 ? '' : 's'}`
