/** A text as a sentence: it begins with a capital letter and ends with a full stop. */
export const sentence = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
