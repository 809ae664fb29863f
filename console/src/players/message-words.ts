import { words } from '../ui/words.ts'

/** The title of a message in its first language. */
export const messageTitle = (message: {
  readonly kind: string
  readonly texts: readonly { readonly title: string }[]
}): string => message.texts[0]?.title ?? `${words(message.kind)} without a text`
