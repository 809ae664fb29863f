{{- define "tierway.labels" -}}
{{ include "tierway.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}
{{- define "tierway.selector" -}}
app.kubernetes.io/name: tierway
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "tierway.name" -}}
{{ .Values.fullnameOverride | default .Release.Name }}
{{- end }}
{{- define "tierway.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}
{{- define "tierway.text" -}}
{{- /* Numbers of values are of type float64, which would print as 1.048576e+06. */ -}}
{{- if kindIs "float64" . }}{{ int64 . }}{{ else }}{{ . }}{{ end -}}
{{- end }}
{{- define "tierway.env" -}}
{{- if not (hasKey .Values.env "TRUSTED_PROXIES") }}
- { name: TRUSTED_PROXIES, value: {{ if .Values.ingress.enabled }}"1"{{ else }}"0"{{ end }} }
{{- end }}
{{- range $name, $value := .Values.env }}
- { name: {{ $name }}, value: {{ include "tierway.text" $value | quote }} }
{{- end }}
{{- range .Values.extraEnv }}
- {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "tierway.placement" -}}
{{- with .Values.nodeSelector }}
nodeSelector: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.affinity }}
affinity: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{ toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.extraVolumes }}
volumes: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "tierway.container" -}}
image: {{ include "tierway.image" . | quote }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
envFrom:
  - secretRef:
      name: {{ required "existingSecret must name a Secret with DATABASE_URL, TOKEN_KEYS and SECRETS_KEYS" .Values.existingSecret }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
{{- with .Values.extraVolumeMounts }}
volumeMounts: {{ toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- define "tierway.pod" -}}
automountServiceAccountToken: false
# The variables of links are named as those of the service: METRICS_PORT, beside a service with the name metrics.
enableServiceLinks: false
{{- with .Values.serviceAccountName }}
serviceAccountName: {{ . }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{ toYaml . | nindent 2 }}
{{- end }}
securityContext: {{ toYaml .Values.podSecurityContext | nindent 2 }}
{{- end }}
