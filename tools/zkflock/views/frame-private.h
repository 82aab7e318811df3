/* A display that is being written, line by line. */
#pragma once

#include "views/frame.h"

#define BOLD    "\x1b[1m"
#define INVERSE "\x1b[7m"
#define GREEN   "\x1b[32m"
#define YELLOW  "\x1b[33m"
#define RED     "\x1b[31m"
#define DIM     "\x1b[2m"
#define PLAIN   "\x1b[0m"

typedef struct
{
  const FrameStyle *style;
  GString *out;
  int rows; /* number written so far */
  int lock_width;
  int kind_width; /* 0: not shown */
  int holder_width;
  int queue_width; /* 0: not shown; -1: no limit */
} Frame;

void frame_colour (Frame *frame, const char *code);
void frame_end_line (Frame *frame);
/* A line of one colour, cut at the width. colour may be NULL. */
void frame_append_line (Frame *frame, const char *colour, const char *text);
/* The line that says why the display is out of date, if it is. */
void frame_append_trouble (Frame *frame);
/* Rows that can still be written. */
int frame_rows_left (const Frame *frame);
