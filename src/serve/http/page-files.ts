import { hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { hasTag, type Reply } from '../../declare/respond.ts'
import type { Route } from '../../declare/route.ts'

/** Allows scripts and styles of this origin, and nothing from elsewhere. The page's own inline styles are allowed. */
export const PAGE_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

export const SECURITY = ['x-content-type-options', 'nosniff', 'referrer-policy', 'no-referrer'] as const

const TYPES: Readonly<Record<string, string>> = {
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  svg: 'image/svg+xml',
}

export interface PageFile {
  readonly type: string
  readonly plain: Buffer
  readonly zipped: Buffer
  /** The hash of the content. The answer to a request with `?<hash>` may be cached without a limit. */
  readonly hash: string
}

export async function toPageFile(name: string, plain: Buffer): Promise<PageFile> {
  return {
    type: TYPES[name.split('.').at(-1) ?? ''] ?? 'text/html; charset=utf-8',
    plain,
    zipped: await promisify(gzip)(plain),
    hash: hashOf(plain),
  }
}

export const hashOf = (plain: Buffer): string => hash('sha256', plain).slice(0, 16)

/**
 * Browsers revalidate their copy, unless the URL has the hash of the file, in its query or in its file name. A page
 * itself has the strict policy.
 */
export function sendPageFile(
  file: PageFile,
  { headers: sent, url }: IncomingMessage,
  { isNamedByContent = false }: { readonly isNamedByContent?: boolean } = {},
): Reply {
  const zip = /\bgzip\b/.test(String(sent['accept-encoding'] ?? ''))
  const etag = `"${file.hash}${zip ? '-gzip' : ''}"`
  const isKept = isNamedByContent || url?.endsWith(`?${file.hash}`)
  const cache = isKept ? 'public, max-age=31536000, immutable' : 'no-cache'
  const headers = [...SECURITY, 'etag', etag, 'vary', 'accept-encoding', 'cache-control', cache]
  if (file.type.startsWith('text/html')) headers.push('content-security-policy', PAGE_POLICY)
  if (hasTag(sent['if-none-match'], etag)) return { status: 304, body: null, headers }
  headers.push('content-type', file.type)
  if (zip) headers.push('content-encoding', 'gzip')
  return { status: 200, body: zip ? file.zipped : file.plain, headers }
}

/** A route for browsers: no page of another origin calls it. */
export const getPage = (path: string, respond: Route['respond']): Route => ({
  method: 'GET',
  path,
  isPage: true,
  respond,
})

/** Redirects the path with a slash at its end. The links of the page are relative to the path without one. */
export const withoutSlash = (path: string): Route =>
  getPage(`${path}/`, () => ({ status: 308, body: '', headers: ['location', `..${path}`] }))
