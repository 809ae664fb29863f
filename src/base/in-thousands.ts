/**
 * A whole number with commas, such as `1,000`. Descriptions are made at each start, so `toLocaleString` is not used:
 * its first use loads data of languages, which takes 20 ms.
 */
export const inThousands = (count: number): string => String(count).replace(/\B(?=(\d{3})+$)/g, ',')
