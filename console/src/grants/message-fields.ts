// The message of a grant as a person fills it in. Pure.

export interface TextFields {
  readonly id: number
  readonly language: string
  readonly title: string
  readonly body: string
}

export interface MessageFields {
  readonly isSent: boolean
  /** The first one is for players of every other language. */
  readonly texts: readonly TextFields[]
  /** Empty for none. */
  readonly image: string
  readonly days: string
}

export const NO_MESSAGE: MessageFields = {
  isSent: false,
  texts: [{ id: 0, language: 'en', title: '', body: '' }],
  image: '',
  days: '30',
}

/** The message of a request; null for none, undefined while its fields are incomplete. */
export function messageOf({ isSent, texts, image, days }: MessageFields) {
  if (!isSent) return null
  const isReady = texts.every(({ language, title }) => language.trim() !== '' && title.trim() !== '')
  if (!isReady || !/^[1-9]\d{0,3}$/.test(days)) return undefined
  return {
    message: texts.map(({ language, title, body }) => ({ language: language.trim(), title: title.trim(), body })),
    image: image.trim() || null,
    expiresInDays: Number(days),
  }
}
