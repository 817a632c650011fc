# syntax=docker/dockerfile:1
# Written by `doctor init docker`, and yours from now on: docker build -f doctor.Dockerfile .
FROM python:3.12-slim AS app
WORKDIR /app
COPY requirements.txt .
RUN python -m pip install --no-cache-dir -r requirements.txt

# The gate. A build host has no GPU, so the one that the image will run on is declared: the build fails where the
# environment does not fit it.
FROM app AS doctor
RUN python -m venv /opt/doctor \
    && /opt/doctor/bin/python -m pip install --no-cache-dir "canary-doctor==@VERSION@"
RUN /opt/doctor/bin/doctor check --python python3 --assume gpu=sm_90,driver=535.104 --report json=/opt/doctor.json

# What is shipped holds no doctor. A stage that nothing copies from is never built, so the report makes this one wait for the gate.
FROM app
COPY --from=doctor /opt/doctor.json /usr/local/share/doctor.json
