/** The page of a grant job. */
export const jobHref = (environment: string, jobId: string): string => `/env/${environment}/grants/${jobId}`

/** The page of a new grant: `whom` is filter, segment, players or list, with the filters or the segment beside it. */
export const newGrantHref = (environment: string, whom?: URLSearchParams): string =>
  `/env/${environment}/grants/new${whom ? `?${whom}` : ''}`
