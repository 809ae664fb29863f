import type { KeyboardEvent } from 'react'

/** Whether a key sends. The Enter that ends a conversion, as of Japanese, belongs to the text. */
export const isEnter = ({ key, nativeEvent }: Pick<KeyboardEvent, 'key'> & { nativeEvent: { isComposing: boolean } }) =>
  key === 'Enter' && !nativeEvent.isComposing
