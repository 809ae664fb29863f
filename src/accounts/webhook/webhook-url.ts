// The rules of a webhook's address. Each names what a login through it would do instead.

/** Why a text cannot be the address of a webhook. */
export function urlFault(url: string): string | undefined {
  // URL parsers drop these silently. The stored URL should be the one that is called.
  if (/[\s\u0000-\u001f\u007f-\u009f]/.test(url)) return 'must not contain whitespace or control characters'
  if (!URL.canParse(url) || !/^https?:\/\//i.test(url)) return 'must be an absolute http or https URL'
  const { username, password } = new URL(url)
  return username !== '' || password !== '' ? 'must not contain credentials' : undefined
}

/** Further faults of an address that is not stored yet. URL parsers mend the first two to an address that nobody wrote. */
export function newUrlFault(url: string, mayCall: (host: string) => boolean): string | undefined {
  if (url.includes('\\')) return 'must not contain a backslash: use /'
  if (/^https?:\/\/\//i.test(url)) return 'must name a host after http:// or https://'
  const { hostname, port } = new URL(url)
  if (port === '0') return 'must not name port 0, at which nothing can listen'
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  if (mayCall(host)) return undefined
  return `must not be a private address: ${host} is one, and WEBHOOK_PRIVATE_ADDRESSES is not allow`
}
