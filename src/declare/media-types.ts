// What a caller sends and what it takes (RFC 9110, sections 8.3 and 12.5.1).

export const STREAM_TYPE = 'text/event-stream'

export const STREAM_HEADERS = {
  'content-type': STREAM_TYPE,
  'cache-control': 'no-cache',
  // The stream's end is the end of the connection: nothing follows it.
  connection: 'close',
  // Proxies that buffer answers would hold events back.
  'x-accel-buffering': 'no',
}

interface Media {
  readonly type: string
  /** By name, in lower case, without quotes. */
  readonly parameters: ReadonlyMap<string, string>
}

function readMedia(text: string): Media {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase())
  return {
    type,
    parameters: new Map(
      parameters.map((parameter) => {
        const [name = '', value = ''] = parameter.split('=', 2)
        return [name.trim(), value.trim().replace(/^"(.*)"$/, '$1')] as const
      }),
    ),
  }
}

const isUtf8 = ({ parameters }: Media): boolean => ['utf-8', 'utf8'].includes(parameters.get('charset') ?? 'utf-8')

/** Whether a body is JSON in UTF-8, by its `Content-Type`. */
export function isJsonType(header: string | undefined): boolean {
  if (header === 'application/json') return true
  const media = readMedia(header ?? '')
  return media.type === 'application/json' && isUtf8(media)
}

/** Whether a `Content-Type` names UTF-16 or UTF-32, whose texts would be misread as UTF-8. */
export const isWide = (header: string): boolean => /charset *= *"?(utf-?(16|32)|ucs-?[24])/i.test(header)

/** Whether a `Content-Type` names the fields of a form, or an encoding other than UTF-8. */
export function isFormOrEncoded(header: string): boolean {
  const media = readMedia(header)
  return media.type === 'application/x-www-form-urlencoded' || media.type.startsWith('multipart/') || !isUtf8(media)
}

/**
 * The offered types that an `Accept` header takes: the heaviest first, then as the header names them, then as they are
 * offered. A type of weight 0 is refused. A header that is absent or empty takes all.
 */
export function acceptedOf(header: string | undefined, offered: readonly string[]): readonly string[] {
  const ranges = (header?.trim() || '*/*').split(',').map(readMedia).filter(isUtf8)
  return offered
    .map((type) => {
      const [at, weight] = matchOf(type, ranges)
      return { type, at, weight }
    })
    .filter(({ weight }) => weight > 0)
    .sort((one, other) => other.weight - one.weight || one.at - other.at)
    .map(({ type }) => type)
}

/** The place and the weight of the range that fits a type most exactly. */
function matchOf(type: string, ranges: readonly Media[]): readonly [at: number, weight: number] {
  for (const wanted of [type, `${type.split('/', 1)[0]}/*`, '*/*']) {
    const at = ranges.findIndex((range) => range.type === wanted)
    if (at < 0) continue
    const weight = Number(ranges[at]?.parameters.get('q') ?? 1)
    // A weight that is no number counts as none given.
    return [at, Number.isNaN(weight) ? 1 : weight]
  }
  return [0, 0]
}
