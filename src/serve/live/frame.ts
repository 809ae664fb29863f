// Frames of the WebSocket protocol as a server sends them: unfragmented and unmasked (RFC 6455, section 5.2).

const TEXT = 0x81
const PONG = 0x8a
export const PING = Buffer.from([0x89, 0])
const SHORT = 125
const MEDIUM = 0xffff

/** The frame of a text message, given in pieces of UTF-8. */
export function textFrame(pieces: readonly Buffer[]): Buffer {
  return frame(TEXT, pieces)
}

export function pongFrame(data: Buffer): Buffer {
  return frame(PONG, [data])
}

function frame(kind: number, pieces: readonly Buffer[]): Buffer {
  let length = 0
  for (const piece of pieces) length += piece.length
  const headLength = length <= SHORT ? 2 : length <= MEDIUM ? 4 : 10
  const bytes = Buffer.allocUnsafe(headLength + length)
  bytes[0] = kind
  if (length <= SHORT) {
    bytes[1] = length
  } else if (length <= MEDIUM) {
    bytes[1] = 126
    bytes.writeUInt16BE(length, 2)
  } else {
    bytes[1] = 127
    bytes.writeBigUInt64BE(BigInt(length), 2)
  }
  let at = headLength
  for (const piece of pieces) at += piece.copy(bytes, at)
  return bytes
}
