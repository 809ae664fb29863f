import { describe, expect, test } from 'vitest'
import { bestTag, isLanguageTag } from '../../src/base/languages.ts'

describe('a tag of a language', () => {
  test.each(['en', 'pt-BR', 'zh-Hant-TW', 'de-CH-1996', 'EN-us'])('%s is one', (text) => {
    expect(isLanguageTag(text)).toBe(true)
  })

  test.each(['', 'e', 'en_US', 'en-', '-en', 'eu west', 'en-US-', `en-${'a'.repeat(40)}`])('%j is none', (text) => {
    expect(isLanguageTag(text)).toBe(false)
  })
})

describe('the text that a player reads', () => {
  test.each([
    ['the same language', ['en', 'pt-BR', 'de'], 'pt-BR', 'pt-BR'],
    ['in any letter case', ['en', 'pt-BR'], 'PT-br', 'pt-BR'],
    ['the more general one', ['en', 'zh', 'zh-Hant'], 'zh-Hant-TW', 'zh-Hant'],
    ['the most general one', ['en', 'zh'], 'zh-Hant-TW', 'zh'],
    ['another region of the language', ['en', 'pt-BR', 'pt-AO'], 'pt-PT', 'pt-BR'],
    ['the first one without a fit', ['en', 'de'], 'fr', 'en'],
    ['the first one without a wish', ['de', 'en'], null, 'de'],
    ['the first one for an odd wish', ['de', 'en'], 'eu_west', 'de'],
    ['nothing of nothing', [], 'de', undefined],
  ])('%s', (_title, tags, wanted, best) => {
    expect(bestTag(tags, wanted)).toBe(best)
  })
})
